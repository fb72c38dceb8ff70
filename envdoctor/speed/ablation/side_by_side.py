"""Two arms at once that take turns window by window: what the machine does for a second it then does to both.

Fresh processes one after the other each meet a different machine: on a shared one they differ by 4 to 15 % although
nothing differs. Side by side only the pair as a whole does, and a few pairs decide what dozens could not before.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from envdoctor import temporary
from envdoctor.launch.trainer import Measure
from envdoctor.speed.report import Report, Window

VARIABLE = "TRAINER_TURNS"  # read by `trainer.measure.turns`
LOOKS = (4, 6, 8, 12, 16)
"""Numbers of pairs after which it may be decided; a pair of a short workload takes half a minute."""
MEASURE = Measure(windows=20, window_seconds=0.02, least_seconds=8.0, max_seconds=200.0, probes=False)
"""Windows as short as a step: many, of which a burst hits few. ``max_seconds``: waiting for the other is within it."""
POLL = 0.05  # seconds between looks at whether the first one is warm

Run = Callable[[int, str], Report]
"""Runs arm 0 or 1 with this value of `VARIABLE`."""


def run_together(run: Run, order: tuple[int, int]) -> tuple[Report, Report]:
    """One pair: the first of ``order`` starts and warms up, then the other does, then they take turns. In their
    numbers' order. What a run raises is raised here, after the other one was told to stop."""
    with temporary.folder() as folder, ThreadPoolExecutor(2) as pool:
        for side in ("0", "1"):
            os.mkfifo(folder / side)
        started: dict[int, Future[Report]] = {}
        try:
            started[order[0]] = pool.submit(run, order[0], f"{folder}:0")
            while not (folder / "warm").exists() and not started[order[0]].done():
                time.sleep(POLL)
            alone = started[order[0]].done()
            if not (alone and started[order[0]].exception()):  # a trainer that takes no turns ends without a word
                started[order[1]] = pool.submit(run, order[1], "" if alone else f"{folder}:1")
            _until_done(list(started.values()))
        except BaseException:
            (folder / "stop").touch()
            raise
        first = started[order[0]].result()
        second = started[order[1]].result()
        return (first, second) if order == (0, 1) else (second, first)


def _until_done(futures: Sequence[Future[Report]]) -> None:
    """Until all have ended; raises what the first one raises that fails. In short waits, so that Ctrl-C is heard."""
    left = set(futures)
    while left:
        done, left = wait(left, timeout=0.5, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()


def log_ratio(ours: Report, theirs: Report, *, ours_first: bool) -> float:
    """Log of speed over speed: each window of the one that began against the neighbouring two of the
    other, and the middle of those. Raises ValueError where one was not timed.

    The middle, not the mean: a neighbour's burst hits one window or two, and is then one of many.
    """
    first, second = (ours, theirs) if ours_first else (theirs, ours)
    early, late = [_log_speed(w) for w in first.windows], [_log_speed(w) for w in second.windows]
    if not early or not late:
        raise ValueError("a run of a pair was not timed")
    found = []
    for place, value in enumerate(early[: len(late) + 1]):
        beside = late[max(place - 1, 0) : place + 1]  # the windows before and after this one
        found.append(value - statistics.fmean(beside))
    middle = statistics.median(found)
    return middle if ours_first else -middle


def _log_speed(window: Window) -> float:
    """Of real tokens per second, where they were counted.

    Not of trained ones: arms that warm up by a step more or less hold other batches against one another, of which the
    trained share differs threefold and the time hardly.
    """
    done = window.tokens.get("real") or float(window.steps)
    return math.log(done / window.seconds)
