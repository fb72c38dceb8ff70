from envdoctor.knowledge.questions import errors_in, is_of_the_start
from envdoctor.rules.network import _joined
from envdoctor.rules.rule import ERROR, Facts, Finding, Findings, Pattern, Remedy, Skip, finding, rule

_SAYS = Pattern(
    r"(?i)Duplicate GPU detected|invalid device ordinal"
    r"|local[_ ]rank.{0,40}(?:exceeds|more than|>=).{0,20}(?:GPU|device)"
    r"|(?:num_processes|nproc_per_node).{0,40}(?:exceeds|more than|greater than).{0,40}GPU",
)


@rule(ERROR, kind="config-mismatch", subject="processes")
def ranks(facts: Facts) -> Findings:
    """More processes are started on this machine than it has GPUs.

    Why: two ranks on one GPU make NCCL stop ("Duplicate GPU detected"), or share the card and its memory.
    Fix: one process per GPU.
    Source: https://docs.pytorch.org/docs/stable/elastic/run.html
    """
    said = next((line for line in facts.messages if _SAYS.search(line) and not is_of_the_start(line)), None)
    if said is not None and any("nvidia-container-cli" in text for text in facts.messages):
        return  # the container toolkit's own call of CUDA
    if said is not None and any(row.subject == "MIG" for row in errors_in(facts, said)):
        return  # packages/known-errors: parts of a GPU, of which a process sees one
    if said is not None:
        one_each = "--gpus-per-task=1" if facts.remarks.get("slurm gpus per task") == "1" else ""
        yield _from_report(said, one_each, facts.remarks.get("slurm gpu binding", ""))
        return
    started = _joined.ranks_here(facts)
    count = _joined.gpu_count(facts)
    if started is None or not count:
        raise Skip("the number of processes or of GPUs is not known")
    number, source = started
    visible = _joined.variables(facts).get("CUDA_VISIBLE_DEVICES")
    if visible:
        count = min(count, len([part for part in visible.split(",") if part.strip()]))
    if _joined.settings(facts).get("use_cpu", "").lower() == "true" or number <= count or not count:
        return
    yield finding(
        actual=f"{number} processes ({source})",
        expected=f"{count}, one per GPU",
        message=f"{number} processes are started for {count} GPU{'s' if count > 1 else ''}: ranks would share a GPU.",
        fix=Remedy(text="Start one process per GPU.", commands=(f"torchrun --nproc_per_node={count} train.py",)),
        certain=False,  # what was asked for, before anything has failed
    )


def _from_report(said: str, one_each: str, bound: str) -> Finding:
    text = f"A GPU was asked for by a number that this process does not have: {said}."
    if one_each and "ordinal" in said:
        text = f"Slurm's {one_each} shows each task one GPU, which is number 0 to it, and another number was asked for"
        return _no_such_number(said, f"{text}: {said}.", "each task asks for the one of its local rank", _WHOLE_NODE)
    if bound and "ordinal" in said:
        return _no_such_number(said, text, f"{bound} {_SHOWS_ONE}", _unbind(bound))
    if "ordinal" in said.lower():
        return _no_such_number(said, text, _FIXED_NUMBER, _BY_RANK, expected="a number of a GPU that this process sees")
    shared = "duplicate gpu" in said.lower()
    happens = "More processes are started than there are GPUs for them"
    if shared:
        happens = "Processes of the run have to share a GPU"
    return finding(
        title="Processes of one run share a GPU" if shared else "",
        actual=said,
        expected="one process per GPU",
        message=f"{happens}: {said}.",
        usually=_SAME_ONE,
        fix=_CHOOSE_ONE,
        explains=(*_CUDA_STOPS, "packages/known-errors ranks"),
    )


def _no_such_number(
    said: str, message: str, usually: str, fix: Remedy, expected: str = "the GPU of its own task"
) -> Finding:
    return finding(
        title="A GPU is asked for by a number that this process does not have",
        actual=said,
        expected=expected,
        message=message,
        usually=usually,
        fix=fix,
        explains=_CUDA_STOPS,
    )


def _unbind(bound: str) -> Remedy:
    return Remedy(
        text=f"Take {bound} out (or --gpu-bind=none), so that each task sees all GPUs of its node; or let each task "
        "take cuda:0 (local rank modulo torch.cuda.device_count()). The second command shows what a task sees.",
        commands=("nvidia-smi -L", "srun python -c 'import torch; print(torch.cuda.device_count())'"),
    )


_CUDA_STOPS = ("driver/cuda-init", "torch/cuda-error")
_SHOWS_ONE = (
    "of the job script shows each task only the GPU that lies next to it, which is number 0 to it, while each asks for "
    "the one of its local rank, or the code names a fixed GPU"
)
_WHOLE_NODE = Remedy(
    text="Ask for the GPUs of the node in place of it (--gpus-per-node, --gres=gpu:N with --gpu-bind=none), or "
    "let each task take cuda:0 (local rank modulo torch.cuda.device_count())."
)
_FIXED_NUMBER = (
    "the code, its settings or a checkpoint name a fixed GPU (cuda:1 where there is one), more processes are started "
    "on this machine than it has GPUs, or each sees fewer than it thinks (CUDA_VISIBLE_DEVICES, Slurm's "
    "--gpus-per-task), which are numbered from 0"
)
_BY_RANK = Remedy(
    text="See what torch.cuda.device_count() says in that process. Replace a fixed number by cuda:0 (of a "
    "checkpoint: map_location) or the local rank, start as many processes as there are GPUs, and under Slurm "
    "ask for --gpus-per-node in place of --gpus-per-task, or let each task take cuda:0.",
    commands=("nvidia-smi -L", "python -c 'import torch; print(torch.cuda.device_count())'"),
)
_SAME_ONE = (
    "each takes the same one since it does not choose that of its local rank, more are started than the machine has "
    "GPUs, or all of them see only one (CUDA_VISIBLE_DEVICES, Slurm's --gpus-per-task, MIG)"
)
_CHOOSE_ONE = Remedy(
    text="Let each process take the GPU of its local rank before anything else "
    '(torch.cuda.set_device(int(os.environ["LOCAL_RANK"])); under srun it is SLURM_LOCALID), and start as many as '
    "the machine has GPUs. Slurm's --gpus-per-task, --gpu-bind and --accel-bind leave each task one GPU, which is "
    "number 0 to it: ask for --gpus-per-node instead, or let each task take cuda:0.",
    commands=("nvidia-smi -L", "torchrun --nproc_per_node=gpu train.py"),
)
