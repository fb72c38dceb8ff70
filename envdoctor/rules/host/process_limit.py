from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge import messages
from envdoctor.pattern import Pattern
from envdoctor.rule import Finding, Remedy, Severity, Skip, known, rule
from envdoctor.target import Target

_ENOUGH = 1024  # threads of one run with loaders, NCCL and compile workers on a large machine; our choice
_SAYS = (Pattern(r"can't start new thread|pthread_create.*(?:failed|resource temporarily)|fork: retry", re.IGNORECASE),)


@rule(Severity.WARNING)
def process_limit(facts: Facts, target: Target) -> Iterator[Finding]:
    """Few processes and threads are allowed.

    Why: every thread counts: OpenMP, loader workers, NCCL and the workers that compile kernels. At the limit
    Python says "can't start new thread", and OpenBLAS or OpenMP abort.
    Fix: a larger limit, or fewer threads.
    Source: https://man7.org/linux/man-pages/man2/getrlimit.2.html
    https://github.com/OpenMathLib/OpenBLAS/wiki/Faq
    """
    host = known(facts.host)
    said = messages.matched(facts, *_SAYS)
    limit = host.processes_soft if host else None
    if said is None and limit is None:
        raise Skip("the limit of processes is not known")
    if said is None and (limit is None or limit < 0 or limit >= _ENOUGH):
        return
    yield Finding(
        kind="host-limited",
        subject="processes",
        actual=str(limit) if limit is not None else said.string if said else "",
        expected=f"{_ENOUGH} or more",
        message=f"Threads could not be started: {said.string}."
        if said
        else f"Only {limit} processes and threads are allowed.",
        remedy=Remedy(
            text="Raise the limit, or use fewer threads.",
            commands=("ulimit -u unlimited", "export OMP_NUM_THREADS=4", "docker run --pids-limit=-1 IMAGE"),
        ),
        who="image",
        severity=Severity.ERROR if said else Severity.NOTE,
        root_rank=11 if said else 0,
    )
