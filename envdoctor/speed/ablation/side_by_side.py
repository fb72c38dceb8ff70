"""Two arms at once that take turns window by window: what the machine does for a second it then does to both.

Fresh processes one after the other each meet a different machine: on a shared one they differ by 4 to 15 % although
nothing differs. Side by side only the pair as a whole does, and a few pairs decide what dozens could not before. Equal
steps of warm-up give both the same batches, step for step: what a batch costs is no difference between them either.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path

from envdoctor.launch.trainer import Measure
from envdoctor.speed.report import Report, Window
from envdoctor.system import temporary

VARIABLE = "TRAINER_TURNS"  # read by `trainer.measure.turns`
LOOKS = (4, 6, 8, 12, 16)
"""Numbers of pairs after which it may be decided; a pair of a short workload takes half a minute."""
MEASURE = Measure(
    windows=20, window_seconds=0.02, least_seconds=5.0, max_warmup_seconds=3.0, max_seconds=200.0, probes=False
)
"""Windows as short as a step: many, of which a burst hits few. ``max_seconds``: waiting for the other is within it.
Neither has to be steady before it is timed: what still moves then moves in both, at the same step."""
TRIM = 0.25
"""Share of the windows left out at either end: a burst hits a few. Between pairs the mean of the middle half spreads
about as much as the median (0.024 and 0.025 in 146 recorded pairs)."""
POLL = 0.05  # seconds between looks at how far the first one is

Run = Callable[[int, str], Report]
"""Runs arm 0 or 1 with this value of `VARIABLE`."""


def run_together(run: Run, order: tuple[int, int]) -> tuple[Report, Report]:
    """One pair: the first of ``order`` starts; while it warms up the other one starts and waits, then warms up itself,
    and then they take turns. In their numbers' order. What a run raises is raised here, after the other one was told to
    stop."""
    with temporary.folder() as folder, ExitStack() as pipes, ThreadPoolExecutor(2) as pool:
        for side in ("0", "1"):
            os.mkfifo(folder / side)
        second = os.open(folder / "1", os.O_RDWR | os.O_NONBLOCK)
        pipes.callback(os.close, second)
        started: dict[int, Future[Report]] = {}
        try:
            started[order[0]] = pool.submit(run, order[0], f"{folder}:0")
            alone = not _appears(folder / "begun", started[order[0]])
            if not (alone and started[order[0]].exception()):  # a trainer that takes no turns ends without a word
                started[order[1]] = pool.submit(run, order[1], "" if alone else f"{folder}:1")
            if not alone and not _appears(folder / "warm", started[order[0]]):
                os.write(second, b"e")  # as the first one itself does after its last window
            _until_done(list(started.values()))
        except BaseException:
            (folder / "stop").touch()
            raise
        return started[0].result(), started[1].result()


def _appears(file: Path, run: Future[Report]) -> bool:
    """Waits for this file of a run; False when the run ends without."""
    while not file.exists():
        if run.done():
            return file.exists()
        time.sleep(POLL)
    return True


def _until_done(futures: Sequence[Future[Report]]) -> None:
    """Until all have ended; raises what the first one raises that fails. In short waits, so that Ctrl-C is heard."""
    left = set(futures)
    while left:
        done, left = wait(left, timeout=0.5, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()


def log_ratio(ours: Report, theirs: Report, *, ours_first: bool) -> float:
    """Log of speed over speed: the middle of what the windows differ by. Raises ValueError where one was not timed.

    Windows with the same batches are held against each other, one by one. Where the arms hold other batches (one packs
    its rows, the other does not), each window of the one that began stands against the neighbouring two of the other.
    """
    first, second = (ours, theirs) if ours_first else (theirs, ours)
    if not first.windows or not second.windows:
        raise ValueError("a run of a pair was not timed")
    pairs = list(zip(first.windows, second.windows, strict=False))
    if all((one.steps, one.tokens) == (other.steps, other.tokens) for one, other in pairs):
        found = [math.log(other.seconds / one.seconds) for one, other in pairs]
    else:
        late = [_log_speed(window) for window in second.windows]
        early = [_log_speed(window) for window in first.windows[: len(late) + 1]]
        found = [value - statistics.fmean(late[max(place - 1, 0) : place + 1]) for place, value in enumerate(early)]
    middle = _middle(found)
    return middle if ours_first else -middle


def _middle(values: Sequence[float]) -> float:
    """Mean of the middle half."""
    out = int(TRIM * len(values))
    return statistics.fmean(sorted(values)[out : len(values) - out])


def _log_speed(window: Window) -> float:
    """Of real tokens per second, where they were counted.

    Not of trained ones: arms that warm up by a step more or less hold other batches against one another, of which the
    trained share differs threefold and the time hardly.
    """
    done = window.tokens.get("real") or float(window.steps)
    return math.log(done / window.seconds)
