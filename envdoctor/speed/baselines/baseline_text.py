"""A recorded baseline as lines for a terminal: who measured what, where, when, how far it spreads, what it catches."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence

from envdoctor.locks.target import Baseline
from envdoctor.speed import plot, roofline
from envdoctor.speed import statistics as speeds
from envdoctor.speed.decision import LEAST_EFFECT
from envdoctor.speed.evidence.pace_model import pace_model
from envdoctor.speed.evidence.probes import PROBE_FLOOR
from envdoctor.speed.statistics import Process

ABOUT = ("date", "driver", "power_limit", "sm_clock_max", "precision", "threads", "cores", "pressure")
_BLOCKS = 200  # of a row at most


def baseline_lines(baseline: Baseline) -> list[str]:
    """Each process's windows as a row of blocks, their distribution, and the conditions they hold under."""
    return list(_lines(baseline))


def _lines(baseline: Baseline) -> Iterator[str]:
    yield f"{baseline.workload} on {baseline.stack}: {baseline.evidence}, {baseline.gpu or 'device not recorded'}"
    if baseline.windows:
        yield from (f"  {line}" for line in _windows(baseline))
    elif baseline.steps_per_second is not None:
        yield f"  {baseline.steps_per_second:.4g} steps per second, no raw numbers"
    known = baseline.conditions
    about = [f"{name.replace('_', ' ')} {known[name]}" for name in ABOUT if name in known]
    versions = known.get("versions")
    if isinstance(versions, Mapping):
        about += [f"{name} {version}" for name, version in versions.items()]
    if about:
        yield f"  {', '.join(about)}"
    disturbed = known.get("disturbed")
    if isinstance(disturbed, (list, tuple)) and disturbed:
        yield f"  recorded on a machine that was not quiet ({_count_disturbed(disturbed)}, the first: {disturbed[0]})"
    if refused := roofline.refuse_impossible(baseline):
        yield f"  impossible: {refused.arithmetic}"
    if baseline.source:
        yield f"  source: {baseline.source}"


def _windows(baseline: Baseline) -> Iterator[str]:
    runs = [speeds.process(row) for row in baseline.windows]
    rates = [run.rate for run in runs]
    every = [rate for row in baseline.windows for rate in row]
    between = statistics.stdev(math.log(rate) for rate in rates) if len(rates) > 1 else 0.0
    within = statistics.median(run.spread for run in runs)
    yield (
        f"{statistics.median(rates):.4g} steps per second, median of {len(runs)} processes "
        f"(between processes {between:.1%}, between windows {within:.1%})"
    )
    for row, run in zip(baseline.windows, runs, strict=True):
        shown = row[:: len(row) // _BLOCKS + 1]
        yield f"{plot.sparkline(shown, min(every), max(every))}  {run.rate:.4g}"
    yield from plot.histogram(every)
    if (model := pace_model(baseline)) is not None:
        varied = statistics.stdev(math.log(pace) for row in baseline.paces for pace in row)
        runs = model.processes(baseline)
        between = statistics.stdev(math.log(run.rate) for run in runs) if len(runs) > 1 else 0.0
        yield (
            f"the machine's own pace varied by {varied:.1%}, and a step's speed by {model.slope:.2f} times as much: "
            f"taken off, processes differ by {between:.1%}"
        )
    if len(runs) >= speeds.FEWEST_BASELINE_PROCESSES:
        yield (
            f"on the same machine a run of one process is called slower from {detectable(runs, 1):.1%} on, of three "
            + (f"from {detectable(runs, 3):.1%} on (9 times in 10)")
        )


def detectable(baseline: list[Process], processes: int) -> float:
    """The slow-down that a verdict of so many processes finds in 9 of 10 cases, with probes at their best."""
    typical = statistics.median(run.rate for run in baseline)
    alike = min(baseline, key=lambda run: abs(run.rate - typical))
    return speeds.compare([alike] * processes, baseline, probe_spread=PROBE_FLOOR, least=LEAST_EFFECT).detectable


def _count_disturbed(disturbed: Sequence[object]) -> str:
    return "1 disturbance" if len(disturbed) == 1 else f"{len(disturbed)} disturbances"
