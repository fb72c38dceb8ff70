from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Remedy, Skip, finding, need, rule

_ENOUGH_PERIODS = 100  # of 100 ms each, usually: ten seconds of use before anything is concluded
_OFTEN = 0.10  # share of periods in which the container was stopped; our choice


@rule(WARNING, kind="host-limited", subject="CPU throttling", expected=f"under {100 * _OFTEN:.0f} %", who="image")
def cpu_throttled(facts: Facts) -> Findings:
    """The kernel keeps stopping this container because its CPU quota is used up.

    Why: when a container has used its quota, all of its threads stand still until the next period (100 ms as a
    rule). The Python thread that launches GPU kernels is among them, and the GPU waits.
    Fix: fewer threads and workers, or a larger quota.
    Source: https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files
    https://docs.kernel.org/scheduler/sched-bwc.html
    """
    host = need(facts.host)
    if host.cpu_periods is None or host.cpu_throttled is None:
        raise Skip("the kernel's count of throttled periods is not known")
    if host.cpu_periods < _ENOUGH_PERIODS or host.cpu_throttled < host.cpu_periods * _OFTEN:
        return
    share = 100 * host.cpu_throttled / host.cpu_periods
    quota = f"{host.cpu_quota:g} CPUs" if host.cpu_quota else "its quota"
    fewer = f"export OMP_NUM_THREADS={max(1, int(host.cpu_quota or 1))}"
    yield finding(
        actual=f"stopped in {share:.0f} % of periods",
        severity=NOTE if facts.origin.kind == "pasted" else None,
        message=f"The container was stopped in {share:.0f} % of its periods for using more than {quota}.",
        fix=Remedy(text=_FEWER_OR_MORE, commands=(fewer,), instead=("docker run --cpus=8 IMAGE",)),
    )


_FEWER_OR_MORE = "Use fewer threads and loader workers, or ask for more CPUs."
