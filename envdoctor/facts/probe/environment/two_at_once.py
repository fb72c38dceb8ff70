"""Are all files as long as RECORD says? Nearly always they are, and the looks at 65,000 files take most of a check.

A second process takes half of a large environment. What it does not live to tell is looked at again, one by one.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import List, Optional, Sequence, Set, Tuple

    Entry = Tuple[str, str, Optional[int]]  # path as RECORD writes it, hash, size
    Job = Tuple[str, Sequence[Entry]]  # location, and what lies there

MANY = 10000  # files from which on a second process pays: to start one takes as long as a few hundred looks


def sound(jobs: Sequence[Job]) -> Set[int]:
    """Numbers of the jobs whose files are all there and as long as stated. Changes the working directory."""
    total = sum(len(entries) for _, entries in jobs)
    if total < MANY or not hasattr(os, "fork") or (os.cpu_count() or 1) < 2:
        return set(_alone(jobs, range(len(jobs))))
    ours: List[int] = []
    theirs: List[int] = []
    seen = 0
    for number, (_, entries) in enumerate(jobs):
        (ours if seen < total // 2 else theirs).append(number)
        seen += len(entries)
    return _together(jobs, ours, theirs)


def _alone(jobs: Sequence[Job], numbers: Sequence[int]) -> List[int]:
    found = []
    for number in numbers:
        location, entries = jobs[number]
        try:
            os.chdir(location)  # short relative paths halve the cost of each look
            if _as_stated(entries):
                found.append(number)
        except OSError:
            pass
    return found


def _as_stated(entries: Sequence[Entry]) -> bool:
    look = os.stat
    stated = [size for _, _, size in entries if size is not None]
    return [look(path).st_size for path, _, size in entries if size is not None] == stated


def _together(jobs: Sequence[Job], ours: Sequence[int], theirs: Sequence[int]) -> Set[int]:
    answer, told = os.pipe()
    try:
        child = os.fork()
    except OSError:  # a limit of processes, no memory: then alone
        os.close(answer)
        os.close(told)
        return set(_alone(jobs, [*ours, *theirs]))
    if child == 0:
        try:
            os.close(answer)
            for number in _alone(jobs, theirs):
                os.write(told, b"%d\n" % number)
        finally:
            os._exit(0)
    os.close(told)
    found = set(_alone(jobs, ours))
    with os.fdopen(answer, "rb") as stream:
        found.update(int(line) for line in stream.read().split(b"\n")[:-1])  # a last line without an end is half one
    os.waitpid(child, 0)
    return found
