from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge.hardware import allowed_cpus, trains_on_gpu
from envdoctor.rule import Finding, Remedy, Severity, Skip, known, need, rule
from envdoctor.target import Target

_ENOUGH = 2.0  # Vast.ai's self-test of hosts


@rule(Severity.WARNING)
def cpus_per_gpu(facts: Facts, target: Target) -> Iterator[Finding]:
    """There are fewer than two CPUs for each GPU.

    Why: one thread launches kernels, others prepare batches. With less than two CPUs for each GPU they take
    turns, and the GPU waits.
    Fix: data that is tokenised beforehand and no loader workers; or a machine with more CPUs.
    Source: https://github.com/vast-ai/vast-cli (self-test: at least two cores for each GPU)
    """
    host, gpus = need(facts.host), known(facts.gpus)
    cpus = allowed_cpus(host)
    count = (gpus.count or len(gpus.devices)) if gpus else 0
    if not count and trains_on_gpu(facts, target) is False:
        return
    if cpus is None or not count:
        raise Skip("the number of CPUs or of GPUs is not known")
    if cpus < count * _ENOUGH:
        yield Finding(
            kind="host-limited",
            subject="CPUs for each GPU",
            actual=f"{cpus:g} CPUs for {count} GPU{'s' if count > 1 else ''}",
            expected=f"{count * _ENOUGH:g} or more",
            message=f"{cpus:g} CPUs for {count} GPU{'s' if count > 1 else ''}: launching and loading take turns.",
            remedy=Remedy(text="Tokenise beforehand, and use no loader workers; or take a machine with more CPUs."),
            who="host",
            root_rank=3,
        )
