"""What a process's windows say, and how two sets of processes compare: log-ratios of medians with an honest error.

Steps of one process are not independent (they are autocorrelated, and loader stalls come in bursts), so no test here
treats them so: one process is one observation, the median of its windows, and the error comes from how processes
differ among themselves (Barrett et al., OOPSLA 2017, find that this difference dominates).
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from envdoctor.speed.distributions import f_quantile, t_quantile

STAGES = (1, 3)
"""Numbers of fresh processes after which a verdict is attempted; the false-alarm rate is shared among these stages."""
ALPHA = 0.01
"""Chance, over all stages together, of calling an equally fast machine slower (and as much of calling it faster)."""
POWER = 0.90
RUN_SPREAD_FLOOR = 0.003
"""Least log-sd between fresh processes that is believed: 0.3 %, whatever a few lucky processes show."""
FEWEST_BASELINE_PROCESSES = 3
FEWEST_WINDOWS = 5  # of a process: a median of fewer moves with a single stall


def robust_sd(values: Sequence[float]) -> float:
    """Standard deviation from the median absolute deviation (x 1.4826, normal data); 0 for fewer than two values."""
    if len(values) < 2:
        return 0.0
    middle = statistics.median(values)
    return 1.4826 * statistics.median(abs(value - middle) for value in values)


def lag_one(values: Sequence[float]) -> float:
    """Autocorrelation of neighbours, clipped to 0 .. 0.9; 0 when there are too few values to tell."""
    if len(values) < 5:
        return 0.0
    mean = statistics.fmean(values)
    centred = [value - mean for value in values]
    total = sum(value * value for value in centred)
    if total <= 0.0:
        return 0.0
    return min(max(sum(a * b for a, b in itertools.pairwise(centred)) / total, 0.0), 0.9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One fresh process: ``rate`` is the median of its windows in steps per second.

    ``spread`` is the robust log-sd of the windows, ``error`` the log standard error of the median (autocorrelation
    counted), ``stall`` the time that stalls add to the median (0.05: the mean step is 5 % longer than the median one).
    """

    rate: float
    spread: float
    error: float
    stall: float
    windows: int


def process(rates: Sequence[float], seconds: Sequence[float] = ()) -> Process:
    """Summarise the windows of one process: ``rates`` in steps per second, ``seconds`` their lengths.

    Without lengths the windows are taken to have equal numbers of steps. Raises ValueError without windows, or for a
    rate that is not positive.
    """
    if not rates or min(rates) <= 0.0:
        raise ValueError("a process needs windows with positive rates")
    lengths = list(seconds) or [1.0 / rate for rate in rates]  # without lengths: windows of equal step counts
    logs = [math.log(rate) for rate in rates]
    rate = statistics.median(rates)
    rho = lag_one(logs)
    effective = max(len(logs) * (1.0 - rho) / (1.0 + rho), 1.0)
    steps = sum(length * r for length, r in zip(lengths, rates, strict=True))
    return Process(
        rate=rate,
        spread=robust_sd(logs),
        error=1.2533 * robust_sd(logs) / math.sqrt(effective),  # of a median: sqrt(pi / 2) times that of a mean
        stall=max(sum(lengths) / steps * rate - 1.0, 0.0),
        windows=len(rates),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How fast the run is, relative to the baseline (1.0: equal, 0.9: a tenth slower), machine factor divided out.

    ``alpha`` is the one-sided chance of a false "slower" over all stages; each uses its share. ``detectable`` is
    the slow-down (0.04: 4 %) that this very comparison would have called slower with 90 % probability.
    """

    ratio: float
    interval: tuple[float, float]
    alpha: float
    detectable: float
    error: float  # standard error of log(ratio)
    df: float  # effective degrees of freedom
    run_spread: float  # log-sd between processes that was used
    processes: int


def compare(
    runs: Sequence[Process],
    baseline: Sequence[Process],
    *,
    log_factors: Sequence[float] = (),
    baseline_log_factors: Sequence[float] = (),
    probe_spread: float = 0.0,
    least: float = 0.0,
    alpha: float = ALPHA,
    stages: int = len(STAGES),
) -> Comparison:
    """Compare q processes with R baseline processes: d = mean log rate of runs - of baseline, less machine factors.

    SE = sqrt(s_run^2 (1/R + 1/q) + s_probe^2) with s_run the log-sd between baseline processes (floor 0.3 %), plus
    what today's windows are noisier than the baseline's were. The quantile is Student's at ``alpha / stages``, so that
    all stages together keep ``alpha``; s_run has R - 1 degrees of freedom, s_probe is given and has none to lose
    (Welch and Satterthwaite's effective number).

    ``log_factors``: log of each process's machine speed relative to a common reference (0 when not known).
    ``probe_spread``: s_probe, log-sd of what the machine factor may be wrong by. ``least``: the smallest log effect
    that may be called slower. Raises ValueError for fewer than two baseline processes.
    """
    if len(baseline) < 2 or not runs:
        raise ValueError("a comparison needs two baseline processes and one run")
    theirs = _log_rates(baseline, baseline_log_factors)
    ours = _log_rates(runs, log_factors)
    spread = between_processes(baseline, baseline_log_factors)
    noise = statistics.fmean(p.error**2 for p in runs)
    usual = statistics.fmean(p.error**2 for p in baseline)
    between = spread**2 * (1 / len(theirs) + 1 / len(ours))
    error = math.sqrt(between + probe_spread**2 + max(noise - usual, 0.0) / len(ours))
    df = _effective_df(len(theirs), between, error)
    d = statistics.fmean(ours) - statistics.fmean(theirs)
    return comparison_of(d, error, df, alpha, stages, least, run_spread=spread, processes=len(ours))


def comparison_of(
    difference: float, error: float, df: float, alpha: float, stages: int, least: float, *,
    run_spread: float, processes: int,
) -> Comparison:  # fmt: skip
    """What a difference of log rates with this standard error comes to."""
    half = t_quantile(1.0 - alpha / stages, df) * error
    seen = max(half, least) + t_quantile(POWER, df) * error
    return Comparison(
        ratio=math.exp(difference),
        interval=(math.exp(difference - half), math.exp(difference + half)),
        alpha=alpha,
        detectable=1.0 - math.exp(-seen),
        error=error,
        df=df,
        run_spread=run_spread,
        processes=processes,
    )


def between_processes(processes: Sequence[Process], log_factors: Sequence[float] = ()) -> float:
    """Log-sd between fresh processes, machine factors taken off; never below what is believed."""
    return max(statistics.stdev(_log_rates(processes, log_factors)), RUN_SPREAD_FLOOR)


def _effective_df(processes: int, between: float, error: float) -> float:
    return round((processes - 1) * error**4 / between**2, 1)


def _log_rates(processes: Sequence[Process], log_factors: Sequence[float]) -> list[float]:
    factors = list(log_factors) or [0.0] * len(processes)
    return [math.log(p.rate) - factor for p, factor in zip(processes, factors, strict=True)]


def tolerance(baseline: Sequence[Process], *, probe_spread: float, least: float, processes: int = STAGES[-1]) -> float:
    """The smallest margin (log) within which an equally fast machine is called so 90 % of the time, after all stages.

    Never under ``least``: where the baseline's own processes differ by several percent, a promise of 5 % is empty.
    """
    spread = between_processes(baseline)
    between = spread**2 * (1 / len(baseline) + 1 / processes)
    error = math.sqrt(between + probe_spread**2)
    df = _effective_df(len(baseline), between, error)
    return max(least, (t_quantile(1.0 - ALPHA / len(STAGES), df) + t_quantile(POWER, df)) * error)


def sharpens(comparison: Comparison, baseline: Sequence[Process], probe_spread: float) -> bool:
    """Would the last stage's processes narrow the interval by a tenth or more? What the machines differ by stays."""
    between = comparison.run_spread**2 * (1 / len(baseline) + 1 / STAGES[-1])
    return math.sqrt(between + probe_spread**2) < 0.9 * comparison.error


def disagree(runs: Sequence[Process], run_spread: float, df: float) -> bool:
    """Do the runs differ among themselves far more than the baseline's processes did? (F test, 1 %)."""
    if len(runs) < 2:
        return False
    variance = statistics.variance(math.log(p.rate) for p in runs)
    return variance / run_spread**2 > f_quantile(0.99, len(runs) - 1, df)
