from envdoctor.knowledge.questions import messages
from envdoctor.rules.rule import ERROR, NOTE, WARNING, Facts, Findings, Pattern, Remedy, Skip, finding, known, rule

_ENOUGH = 1024  # threads of one run with loaders, NCCL and compile workers on a large machine; our choice
_SAYS = (Pattern(r"(?i)can't start new thread|pthread_create.*(?:failed|resource temporarily)|fork: retry"),)


@rule(WARNING, kind="host-limited", subject="processes", expected=f"{_ENOUGH} or more", who="image")
def process_limit(facts: Facts) -> Findings:
    """Few processes and threads are allowed.

    Why: every thread counts: OpenMP, loader workers, NCCL and the workers that compile kernels. At the limit
    Python says "can't start new thread", and OpenBLAS or OpenMP abort.
    Fix: a larger limit, or fewer threads.
    Source: https://man7.org/linux/man-pages/man2/getrlimit.2.html
    https://github.com/OpenMathLib/OpenBLAS/wiki/Faq
    """
    host = known(facts.host)
    said = messages.in_report(facts, *_SAYS)
    limit = host.processes_soft if host else None
    if said is None and limit is None:
        raise Skip("the limit of processes is not known")
    if said is None and (limit is None or limit < 0 or limit >= _ENOUGH):
        return
    if said is None:
        text = f"Only {limit} processes and threads are allowed."
        yield finding(actual=str(limit), severity=NOTE, message=text, fix=_MORE_OR_FEWER)
        return
    yield finding(
        title="Threads could not be started",
        actual=str(limit) if limit is not None else said.string,
        severity=ERROR,
        message=f"Threads could not be started: {said.string}.",
        usually=_WHY,
        fix=_MORE_OR_FEWER,
    )


_WHY = (
    "the limit of processes is reached (of the user, or of the container: --pids-limit), memory for their stacks is "
    "out, or an old Docker (before 20.10.10) refuses the call that a newer image's C library makes"
)
_MORE_OR_FEWER = Remedy(
    text="See the limit and how many threads run. Raise it, or use fewer threads; in an old Docker update it.",
    commands=("ulimit -u", "export OMP_NUM_THREADS=4"),
    instead=("docker run --pids-limit=-1 IMAGE",),
)
