from envdoctor.knowledge.questions import allowed_cpus
from envdoctor.rules.rule import WARNING, Facts, Findings, Skip, Target, finding, known, need, rule, trains_on_gpu

_ENOUGH = 2.0  # Vast.ai's self-test of hosts


@rule(WARNING, kind="host-limited", subject="CPUs for each GPU", who="host")
def cpus_per_gpu(facts: Facts, target: Target) -> Findings:
    """There are fewer than two CPUs for each GPU.

    Why: one thread launches kernels, others prepare batches. With less than two CPUs for each GPU they take
    turns, and the GPU waits.
    Fix: data that is tokenised beforehand and no loader workers; or a machine with more CPUs.
    Source: https://github.com/vast-ai/vast-cli (self-test: at least two cores for each GPU)
    """
    host, gpus = need(facts.host), known(facts.gpus)
    cpus = allowed_cpus(host)
    count = gpus.number if gpus else 0
    if not count and trains_on_gpu(facts, target) is False:
        return
    if cpus is None or not count:
        raise Skip("the number of CPUs or of GPUs is not known")
    if cpus < count * _ENOUGH:
        yield finding(
            actual=f"{cpus:g} CPUs for {count} GPU{'s' if count > 1 else ''}",
            expected=f"{count * _ENOUGH:g} or more",
            message=f"{cpus:g} CPUs for {count} GPU{'s' if count > 1 else ''}: launching and loading take turns.",
            fix="Tokenise beforehand, and use no loader workers; or take a machine with more CPUs.",
        )
