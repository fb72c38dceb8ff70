from envdoctor.rules.rule import NOTE, Facts, Findings, finding, known, need, rule


@rule(NOTE, kind="host-limited", subject="memory nodes", expected="each rank on the node of its GPU")
def numa(facts: Facts) -> Findings:
    """The machine has several memory nodes, and nothing binds a process to the one of its GPU.

    Why: a GPU hangs on one socket. A process on the other one copies its batches through the link between the
    sockets, and its memory is slower. It shows in copies and loaders, not in long kernels.
    Fix: bind each rank: torchrun --numa-binding=node, accelerate's enable_cpu_affinity, or numactl.
    Source: https://docs.pytorch.org/docs/stable/elastic/run.html
    https://github.com/huggingface/accelerate/blob/main/src/accelerate/utils/environment.py
    """
    host, gpus, launcher = need(facts.host), known(facts.gpus), known(facts.launcher)
    count = gpus.number if gpus else 0
    nodes = host.numa_nodes or 1
    bound = launcher is not None and launcher.settings.get("enable_cpu_affinity", "").lower() == "true"
    narrow = host.affinity is not None and host.cpus is not None and host.affinity <= host.cpus // nodes
    if nodes < 2 or count < 2 or bound or narrow:
        return
    yield finding(
        actual=f"{nodes} nodes, {count} GPUs, no binding",
        message=f"{nodes} memory nodes and {count} GPUs: a rank may run far from its GPU.",
        fix="Bind the ranks.",
        run=(f"torchrun --nproc-per-node={count} --numa-binding=node train.py", "nvidia-smi topo -m"),
    )
