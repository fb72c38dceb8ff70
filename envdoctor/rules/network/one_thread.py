from envdoctor.rules.network import _joined
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Remedy, Skip, finding, rule


@rule(NOTE, kind="thread-count", subject="OMP_NUM_THREADS")
def one_thread(facts: Facts) -> Findings:
    """The launcher lets each process compute with one CPU thread.

    Why: torchrun sets OMP_NUM_THREADS=1 when it starts several processes and nobody chose a number. Tokenising,
    offloaded optimizers and everything else on the CPU then use one of many CPUs.
    Fix: OMP_NUM_THREADS = CPUs allowed / processes on this machine.
    Source: https://github.com/pytorch/pytorch/blob/main/torch/distributed/run.py
    """
    started = _joined.ranks_here(facts)
    said = any("Setting OMP_NUM_THREADS environment variable for each process" in line for line in facts.messages)
    chosen = _joined.variables(facts).get("OMP_NUM_THREADS")
    if not said and (started is None or started[0] < 2):
        raise Skip("no launcher starts several processes")
    share = _joined.cpus_of_a_rank(facts)
    if chosen not in (None, "1") or (not said and (chosen is None or share is None)):
        return
    if share is not None and share < 2:
        return
    offload = any(
        name.endswith("offload_optimizer_device") and value == "cpu" for name, value in _joined.settings(facts).items()
    )
    number = str(share) if share else "$(($(nproc) / PROCESSES))"
    yield finding(
        actual="1",
        expected=str(share) if share else "CPUs allowed / processes",
        severity=WARNING if offload else None,
        message="Each process computes with one CPU thread" + (f", and {share} are free for it." if share else "."),
        fix=Remedy(text="Choose the number before the launcher does.", commands=(f"export OMP_NUM_THREADS={number}",)),
    )
