from envdoctor.rules.gpu._cards import full, gibibytes, subject
from envdoctor.rules.rule import NOTE, Facts, Findings, Skip, Target, finding, need, rule

SHORT = 0.9  # of the target's memory; ECC and the driver's own share take some percent of the number on the box


@rule(NOTE, kind="gpu-limited")
def memory(facts: Facts, target: Target) -> Findings:
    """A GPU has less memory than the one that the target was recorded on.

    Why: batch sizes of the workloads and of recorded runs are made for the larger card; on this one they may not fit
    (A100 with 40 GB against 80 GB).
    Fix: smaller batches with gradient accumulation, or gradient checkpointing.
    Source: the target's conditions
    """
    gpus = need(facts.gpus)
    wanted = target.conditions.get("memory")
    if not isinstance(wanted, (int, float)):
        raise Skip("the target names no memory size")
    for gpu in gpus.devices:
        if gpu.memory is None or gpu.memory >= wanted * 1e9 * SHORT:
            continue
        size = gibibytes(gpu.memory)
        message = f"{full(gpu)} has {size}; the target's workloads are made for {wanted:g} GB."
        yield finding(subject=subject(gpu), actual=size, expected=f"{wanted:g} GB", message=message, fix=_SMALLER)


_SMALLER = "Make batches smaller and accumulate gradients; recorded speeds do not apply then."
