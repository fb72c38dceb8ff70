"""What the timed windows themselves show: never steady, too few, wandering, or processes that differ too much."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

from envdoctor.locks.target import Baseline
from envdoctor.speed import breakdown
from envdoctor.speed import statistics as speeds
from envdoctor.speed.evidence.evidence import Evidence
from envdoctor.speed.evidence.probes import drift, shares
from envdoctor.speed.evidence.run import Context, TimedRun
from envdoctor.speed.report import Report
from envdoctor.speed.statistics import FEWEST_WINDOWS, Process

SPREAD_LIMIT = 0.10  # log-sd of windows; pyperf warns at the same 10 %
STALL_LIMIT = 0.05  # mean over median step time
DRIFT_LIMIT = 0.10  # change of a step that the probes tell of, from before to after the run


def windows(run: TimedRun, baseline: Baseline | None, context: Context) -> Iterator[Evidence]:
    """What the reports and their windows show, held against the baseline's own."""
    at_pace = context.pace is not None and bool(context.pace.processes)
    yield from disturbances(run.reports, run.processes, context.recorded, at_pace=at_pace)


def disturbances(
    reports: Sequence[Report], processes: Sequence[Process], usual: Sequence[Process] = (), *, at_pace: bool = False
) -> Iterator[Evidence]:
    """What keeps runs from being judged, or from becoming a baseline.

    ``usual`` are processes of the same work on a good day: a program whose batches differ in length may always vary by
    more than the limits, and is then held against twice what it usually does. ``at_pace``: the machine's own pace was
    taken off window by window, so that it may have changed.
    """
    for number, report in enumerate(reports, 1):
        which = f"process {number}: " if len(reports) > 1 else ""
        yield from _of_report(report, which, at_pace=at_pace)
    spread_limit = max(SPREAD_LIMIT, 2.0 * statistics.median(p.spread for p in usual)) if usual else SPREAD_LIMIT
    stall_limit = max(STALL_LIMIT, 2.0 * statistics.median(p.stall for p in usual)) if usual else STALL_LIMIT
    for number, process in enumerate(processes, 1):
        which = f"process {number}: " if len(processes) > 1 else ""
        yield from _of_process(process, which, spread_limit, stall_limit)


def _of_report(report: Report, which: str, *, at_pace: bool) -> Iterator[Evidence]:
    if report.error is not None or not report.windows:
        message = (report.error or {}).get("message", f"outcome {report.outcome}, no timed windows")
        text = f"{which}the run was not timed to its end: {message}"
        yield Evidence(cause=None, text=text, blocks="not-comparable")
    if not report.warmup.steady:
        why = report.warmup.reason or f"after {report.warmup.steps} steps"
        yield Evidence(cause=None, text=f"{which}it never became steady: {why}", blocks="unstable")
    weights = shares(breakdown.of_windows(report.windows).shares)
    moved, probe = drift({} if at_pace else report.reference_probes, report.precision, weights)
    if moved > math.log1p(DRIFT_LIMIT):
        text = f"{which}the machine changed during the run, by {math.expm1(moved):.0%} of a step: probe {probe} most"
        plain = "the machine changed while it was timed"
        yield Evidence(cause="contention", text=text, blocks="unstable", passing=True, plain=plain)


def _of_process(process: Process, which: str, spread_limit: float, stall_limit: float) -> Iterator[Evidence]:
    if process.windows < FEWEST_WINDOWS:
        text = f"{which}only {process.windows} timed windows; {FEWEST_WINDOWS} are needed"
        yield Evidence(cause=None, text=text, blocks="unstable")
    if process.spread > spread_limit:
        text = f"{which}the speed of its windows varies by {process.spread:.0%}"
        plain = "the speed wandered while it was timed, as beside another program"
        yield Evidence(cause="contention", text=text, blocks="unstable", passing=True, plain=plain)
    if process.stall > stall_limit:
        text = f"{which}stalls make the mean step {process.stall:.0%} longer than the median one"
        plain = "single steps stood still while it was timed, as beside another program"
        yield Evidence(cause="contention", text=text, blocks="unstable", passing=True, plain=plain)


def agreement(run: TimedRun, baseline: Baseline | None, context: Context) -> Iterator[Evidence]:
    """Processes that differ among themselves far more than the baseline's did."""
    if not context.comparable or context.machine is None:
        return
    between = speeds.between_processes(context.recorded, context.machine.baseline_log_factors)
    if speeds.disagree(run.processes, between, len(context.recorded) - 1):
        rates = ", ".join(f"{process.rate:.4g}" for process in run.processes)
        text = f"the processes differ among themselves far more than the baseline's did: {rates} steps per second"
        plain = "every new start ran at another speed, as beside another program"
        yield Evidence(cause="contention", text=text, blocks="unstable", plain=plain)
