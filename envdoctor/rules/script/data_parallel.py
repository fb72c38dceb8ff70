from envdoctor.rules.rule import WARNING, Facts, Findings, rule
from envdoctor.rules.script._reading import finding_at, trees


@rule(WARNING, kind="script-slow", expected="DistributedDataParallel")
def data_parallel(facts: Facts) -> Findings:
    """nn.DataParallel drives several GPUs from one process.

    Why: it copies the model to every GPU in each step, gathers all outputs on the first one, and its threads share one
    interpreter lock. DistributedDataParallel does neither and is faster even on one machine.
    Fix: start one process per GPU with torchrun or accelerate, and wrap with DistributedDataParallel.
    Source: https://docs.pytorch.org/docs/stable/notes/cuda.html#use-nn-parallel-distributeddataparallel-instead-of-multiprocessing-or-nn-dataparallel
    """
    for tree in trees(facts):
        for call in tree.calls("torch.nn.DataParallel", "torch.nn.parallel.DataParallel"):
            yield finding_at(
                tree,
                call,
                message="DataParallel copies the model to every GPU in each step.",
                fix="Start one process per GPU and wrap the model with DistributedDataParallel.",
                run=f"torchrun --nproc_per_node=gpu {tree.script.path}",
            )
