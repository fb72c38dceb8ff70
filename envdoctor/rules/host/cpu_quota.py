from envdoctor.knowledge.questions import allowed_cpus, whole_cpus
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Remedy, finding, known, need, rule


@rule(WARNING, kind="thread-count", subject="CPU quota")
def cpu_quota(facts: Facts) -> Findings:
    """The container's CPU quota is hidden, and threads are counted for all CPUs.

    Why: os.cpu_count() and torch look at the CPUs that are visible, or at the affinity, never at the cgroup's
    quota. With 96 CPUs visible and 8 allowed, every pool starts too many threads, uses up the quota early in each
    period and is then stopped until the next one (about 45x in one report).
    Fix: as many threads and loader workers as the quota has whole CPUs.
    Source: https://github.com/ollama/ollama/issues/17916 https://github.com/vllm-project/vllm/pull/34462
    https://github.com/kubernetes-sigs/inference-perf/pull/722
    https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files
    """
    host = need(facts.host)
    visible = host.affinity or host.cpus  # that a program counts: its affinity where it asks for that, else all
    allowed, threads = allowed_cpus(host), whole_cpus(host)
    if not host.cpu_quota or allowed is None or threads is None or visible is None or host.cpu_quota >= visible:
        return
    torch = known(facts.torch)
    used = torch.threads if torch else None
    too_many = used is not None and used > allowed * 1.25  # one thread more than a fractional quota is rounding
    effect = f", and torch starts {used} threads." if too_many else "; whatever asks for the CPU count is misled."
    fitting = f"Set threads and loader workers to {threads}, or ask for more CPUs."
    yield finding(
        actual=f"{visible} CPUs visible, {allowed:g} allowed" + (f", {used} threads" if used else ""),
        expected=f"{threads} thread{'s' if threads > 1 else ''}",
        severity=None if too_many else NOTE,
        message=f"The container may use {allowed:g} of {visible} visible CPUs{effect}",
        fix=Remedy(text=fitting, commands=(f"export OMP_NUM_THREADS={threads} MKL_NUM_THREADS={threads}",)),
    )
