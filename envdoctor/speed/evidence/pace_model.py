"""What the machine itself gave while a run was timed, taken off window by window.

On a shared machine neighbours slow memory and cache down for seconds at a time, or take half of each core, and probes
before and after a run miss it. The trainer therefore times a small piece of fixed work at every window's edges
(`trainer/measure/pace.py`). Windows at far less than the usual pace tell nothing and are set aside. For the others, how
much of a change of the pace a step takes part in is learned from the baseline's own windows, by regression; where they
hardly varied it is presumed, and the doubt widens the interval.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from envdoctor.locks.target import Baseline
from envdoctor.speed import statistics as speeds
from envdoctor.speed.report import Report
from envdoctor.speed.statistics import FEWEST_WINDOWS, Process

USABLE = 0.75
"""Share of the baseline's usual best pace below which a window is set aside: the machine is another one then."""
BEST = 0.9  # quantile of the baseline's paces that counts as its usual best
PRESUMED, PRESUMED_ERROR = 0.8, 0.4
"""Log change of a step per log change of the pace before any was seen: it slows down too, how much is not known."""
STEEPEST = 1.25
"""The most that is believed: a full cache may slow a step more than the fixed work."""
SURE = 0.01  # least log-sd of windows around the slope: paces are not timed better


@dataclass(frozen=True, slots=True, kw_only=True)
class AtOnePace:
    """Processes whose windows are as fast as they would be at the baseline's pace.

    ``processes`` lacks those that had too few usable windows; they are counted in ``aside``. ``pace``: log of the run's
    pace over the baseline's, usable windows or not. ``log_effect``: log speed that the usable windows' pace is worth to
    a step; ``log_sd``: log-sd by which that may be wrong.
    """

    processes: tuple[Process, ...]
    recorded: tuple[Process, ...]
    aside: int
    pace: float
    log_effect: float
    log_sd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceModel:
    """What the baseline tells: the least usable log pace, the mean of the usable ones, the slope of a step's log speed
    over them, and the slope's error.
    """

    least: float
    centre: float
    slope: float
    error: float

    def usable(self, paces: Sequence[float]) -> list[float]:
        """Log paces of the windows that count."""
        return [value for pace in paces if (value := math.log(pace)) >= self.least]

    def process(self, rates: Sequence[float], paces: Sequence[float]) -> Process | None:
        """The process as it would have been at the mean pace; None with too few usable windows."""
        logs = [(rate, math.log(pace)) for rate, pace in zip(rates, paces, strict=True)]
        adjusted = [r / math.exp(self.slope * (p - self.centre)) for r, p in logs if p >= self.least]
        return speeds.process(adjusted) if len(adjusted) >= FEWEST_WINDOWS else None

    def processes(self, baseline: Baseline) -> list[Process]:
        """The baseline's processes at one pace; those with too few usable windows are left out."""
        found = [self.process(rates, paces) for rates, paces in zip(baseline.windows, baseline.paces, strict=True)]
        return [process for process in found if process is not None]


def pace_model(baseline: Baseline) -> PaceModel | None:
    """How a step follows the machine's pace; None where too few of its processes had a usable one."""
    every = [math.log(pace) for row in baseline.paces for pace in row]
    if len(every) < 2:
        return None
    least = statistics.quantiles(every, n=100, method="inclusive")[round(100 * BEST) - 1] + math.log(USABLE)
    usable = [
        [(math.log(pace), math.log(rate)) for pace, rate in zip(paces, rates, strict=True) if math.log(pace) >= least]
        for paces, rates in zip(baseline.paces, baseline.windows, strict=True)
    ]
    whole = [row for row in usable if len(row) >= FEWEST_WINDOWS]
    if len(whole) < speeds.FEWEST_BASELINE_PROCESSES:
        return None
    points = [point for row in whole for point in row]
    slope, error = _slope(points, len(whole))
    return PaceModel(least=least, centre=statistics.fmean(pace for pace, _ in points), slope=slope, error=error)


def at_one_pace(reports: Sequence[Report], baseline: Baseline) -> AtOnePace | None:
    """The run and its baseline at one pace, or None where a window of either has none."""
    timed = [report for report in reports if report.windows]
    ours = [[w.pace for w in report.windows if w.pace is not None] for report in timed]
    model = pace_model(baseline)
    if model is None or not timed or any(len(row) != len(r.windows) for row, r in zip(ours, timed, strict=True)):
        return None
    found = [model.process(report.rates, row) for report, row in zip(timed, ours, strict=True)]
    processes = tuple(process for process in found if process is not None)
    kept = [model.usable(row) for row, process in zip(ours, found, strict=True) if process is not None]
    usable = statistics.fmean(statistics.fmean(row) for row in kept) - model.centre if kept else 0.0
    return AtOnePace(
        processes=processes,
        recorded=tuple(model.processes(baseline)),
        aside=len(timed) - len(processes),
        pace=statistics.fmean(math.log(pace) for row in ours for pace in row) - model.centre,
        log_effect=model.slope * usable,
        log_sd=model.error * abs(usable),
    )


def _slope(points: Sequence[tuple[float, float]], processes: int) -> tuple[float, float]:
    """Slope of log rate over log pace and its standard error: what is presumed, corrected by what the windows say.

    Windows of one process are alike, so they weigh as many observations as there are processes.
    """
    x, y = [point[0] for point in points], [point[1] for point in points]
    middle = statistics.fmean(x)
    among = math.fsum((value - middle) ** 2 for value in x)
    if among <= 0.0:
        return PRESUMED, PRESUMED_ERROR
    slope, level = statistics.linear_regression(x, y)
    left = math.fsum((b - level - slope * a) ** 2 for a, b in points)
    variance = max(left / max(len(x) - 2, 1), SURE**2) / among * len(x) / processes
    weight = PRESUMED_ERROR**2 / (PRESUMED_ERROR**2 + variance)
    both = weight * slope + (1.0 - weight) * PRESUMED
    return min(max(both, 0.0), STEEPEST), math.sqrt(weight * variance)
