from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Remedy, Skip, finding, known, need, rule


@rule(WARNING, kind="thread-count", subject="CPU affinity")
def affinity(facts: Facts) -> Findings:
    """This process may use only some of the CPUs that are visible.

    Why: a scheduler, taskset or cpuset pins the process to a few CPUs, and libraries that ask for the CPU count
    see all of them. torch follows the affinity; loaders, tokenizers and NumPy's libraries may not, and then start
    too many threads.
    Fix: threads and workers for the CPUs allowed; os.sched_getaffinity instead of os.cpu_count in scripts.
    Source: https://docs.python.org/3/library/os.html#os.sched_getaffinity
    https://github.com/kubernetes-sigs/inference-perf/pull/722
    """
    host = need(facts.host)
    if host.cpus is None or host.affinity is None:
        raise Skip("the CPUs visible, or those allowed, are not known")
    if host.affinity >= host.cpus:
        return
    torch = known(facts.torch)
    used = torch.threads if torch else None
    too_many = used is not None and used > host.affinity * 1.25
    effect = f", and torch starts {used} threads." if too_many else "; os.cpu_count() says otherwise."
    fitting = "Set threads and loader workers to the CPUs allowed, or ask the scheduler for more."
    yield finding(
        actual=f"{host.cpus} CPUs visible, {host.affinity} allowed",
        expected=f"{host.affinity} threads",
        severity=None if too_many else NOTE,
        message=f"The process may run on {host.affinity} of {host.cpus} CPUs{effect}",
        fix=Remedy(text=fitting, commands=(f"export OMP_NUM_THREADS={host.affinity}",)),
    )
