"""Does the baseline say anything about this run? Evidence in what the run is compared with, and the chip's limits."""

from __future__ import annotations

import math
from collections.abc import Iterator

from envdoctor.locks.target import Baseline
from envdoctor.speed import roofline
from envdoctor.speed.evidence.evidence import Evidence
from envdoctor.speed.evidence.run import Context, TimedRun
from envdoctor.speed.report import Report
from envdoctor.speed.statistics import FEWEST_BASELINE_PROCESSES


def baseline_fit(run: TimedRun, baseline: Baseline | None, context: Context) -> Iterator[Evidence]:
    """A missing, claimed or small baseline, or one of other work on another kind of device."""
    if baseline is None:
        text = "there is no baseline for this workload and stack"
        yield Evidence(cause=None, text=text, blocks="not-comparable")
        return
    if baseline.evidence == "claimed" or not baseline.windows:
        whose = baseline.source or "no source given"
        text = f"the baseline is a claim without raw numbers ({whose}); no interval can be given"
        yield Evidence(cause=None, text=text, blocks="not-comparable")
    elif len(baseline.windows) < FEWEST_BASELINE_PROCESSES:
        text = (
            f"the baseline has {len(baseline.windows)} processes; how processes differ is known from "
            f"{FEWEST_BASELINE_PROCESSES} on"
        )
        yield Evidence(cause=None, text=text, blocks="not-comparable")
    yield from _other_work(run.reports[0], baseline)


def _other_work(report: Report, baseline: Baseline) -> Iterator[Evidence]:
    if (report.workload or "") != baseline.workload:
        text = f"the run trained {report.workload or 'its own data'}, the baseline {baseline.workload}"
        yield Evidence(cause=None, text=text, blocks="not-comparable")
    kind = baseline.conditions.get("device")
    if isinstance(kind, str) and kind != report.device.type:
        text = f"the run used {report.device.type}, the baseline {kind} ({baseline.gpu})"
        yield Evidence(cause="machine", text=text, blocks="not-comparable")
    # Steps per second compare only where a step is the same work.
    theirs, ours = baseline.conditions.get("tokens_per_step"), report.tokens_per_step.get("real")
    if baseline.windows and isinstance(theirs, (int, float)) and ours and abs(math.log(ours / theirs)) > 0.02:
        text = f"a step of this run has {ours:,.0f} tokens, a step of the baseline {theirs:,.0f}"
        yield Evidence(cause="settings", text=text, blocks="not-comparable")


def limits(run: TimedRun, baseline: Baseline | None, context: Context) -> Iterator[Evidence]:
    """A speed above the chip's peak is a mistake: of the clock, of the count, or of the baseline."""
    if run.timed and run.steps_per_second:
        line = roofline.of_report(run.timed[0], run.steps_per_second)
        if line.mfu is not None and line.mfu > 1.0:
            text = f"the clock or the count of operations is wrong: {line.mfu:.0%} of the chip's peak"
            yield Evidence(cause=None, text=text, blocks="not-comparable")
    if baseline is not None:
        gpu = run.timed[0].device.name if run.timed and run.timed[0].device.type == "cuda" else None
        if refused := roofline.refuse_impossible(baseline, gpu=baseline.gpu or gpu):
            text = f"the baseline is impossible: {refused.arithmetic}"
            yield Evidence(cause=None, text=text, blocks="not-comparable")
