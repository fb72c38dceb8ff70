"""Other work on the same cores: the kernel's pressure counters, or the load where it has none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from envdoctor.locks.target import Baseline
from envdoctor.speed.evidence.evidence import Evidence
from envdoctor.speed.evidence.run import Context, TimedRun
from envdoctor.speed.report import Report

PRESSURE_LIMIT = {"cpu": 0.10, "cuda": 0.25}
"""Share of the measured time, beyond the baseline's own, in which some task waited for a core. A GPU run hides more."""
BUSY = "another program uses the cores"
NOTICED = 0.05  # share that explains a slow run where nothing else does


def pressure(run: TimedRun, baseline: Baseline | None, context: Context) -> Iterator[Evidence]:
    """Tasks waited for a core, more than while the baseline was recorded; or the load was high."""
    if not context.comparable or baseline is None:
        return
    first = run.timed[0].device
    recorded = baseline.conditions.get("pressure", 0.0)
    usual = float(recorded) if isinstance(recorded, (int, float)) else 0.0
    waited = highest_pressure(run.timed)
    if waited is None:
        load = highest_load(run.timed)
        if first.type == "cpu" and load is not None and first.cores and load > first.cores + 1.0:
            text = f"the load was {load:.1f} on {first.cores} cores while the run was timed"
            yield Evidence(cause="contention", text=text, blocks="unstable", passing=True, plain=BUSY)
        return
    if waited - usual > PRESSURE_LIMIT.get(first.type, 0.25):
        text = f"tasks waited for a CPU core in {waited:.0%} of the measured time (the baseline: {usual:.0%})"
        yield Evidence(cause="contention", text=text, blocks="unstable", passing=True, plain=BUSY)
    if waited > NOTICED:
        text = f"tasks waited for a CPU core in {waited:.0%} of the measured time"
        yield Evidence(cause="contention", text=text, plain=BUSY)


def pressure_of(report: Report) -> float | None:
    """Share of the measured time in which some task waited for a core; None on kernels that do not say."""
    during = report.contention.get("during")
    return float(during) if isinstance(during, (int, float)) and math.isfinite(during) else None


def highest_pressure(reports: Sequence[Report]) -> float | None:
    return max((share for report in reports if (share := pressure_of(report)) is not None), default=None)


def highest_load(reports: Sequence[Report]) -> float | None:
    """The highest one-minute load at the end of the runs."""
    loads = [report.contention.get("load") for report in reports]
    first = [load[0] for load in loads if isinstance(load, list) and load and isinstance(load[0], (int, float))]
    return float(max(first)) if first else None
