from envdoctor.knowledge.questions import whole_cpus
from envdoctor.rules.network import _joined
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Skip, finding, known, rule


@rule(NOTE, kind="thread-count", subject="OMP_NUM_THREADS")
def one_thread(facts: Facts) -> Findings:
    """The launcher lets each process compute with one CPU thread.

    Why: torchrun sets OMP_NUM_THREADS=1 when it starts several processes and nobody chose a number. Tokenising,
    offloaded optimizers and everything else on the CPU then use one of many CPUs.
    Fix: OMP_NUM_THREADS = CPUs allowed / processes on this machine.
    Source: https://github.com/pytorch/pytorch/blob/main/torch/distributed/run.py
    """
    started = _joined.ranks_here(facts)
    host = known(facts.host)
    cpus = whole_cpus(host) if host else None
    said = next(
        (line for line in facts.messages if "Setting OMP_NUM_THREADS environment variable for each process" in line),
        None,
    )
    chosen = _joined.variables(facts).get("OMP_NUM_THREADS")
    if said is None and (started is None or started[0] < 2):
        raise Skip("no launcher starts several processes")
    if chosen not in (None, "1") or (said is None and (chosen is None or cpus is None)):
        return
    share = max(1, cpus // started[0]) if cpus and started else None
    if share is not None and share < 2:
        return
    offload = any(
        name.endswith("offload_optimizer_device") and value == "cpu" for name, value in _joined.settings(facts).items()
    )
    yield finding(
        actual="1",
        expected=str(share) if share else "CPUs allowed / processes",
        severity=WARNING if offload else None,
        message="Each process computes with one CPU thread" + (f", and {share} are free for it." if share else "."),
        fix="Choose the number before the launcher does.",
        run=f"export OMP_NUM_THREADS={share}" if share else "export OMP_NUM_THREADS=$(($(nproc) / PROCESSES))",
    )
