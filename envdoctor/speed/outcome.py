"""The verdict as a value, as a sentence, and as JSON."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from envdoctor.speed import breakdown
from envdoctor.speed.breakdown import Breakdown
from envdoctor.speed.conditions import Cause, pressure
from envdoctor.speed.cost import Cost
from envdoctor.speed.probes import Machine
from envdoctor.speed.report import Report
from envdoctor.speed.roofline import Roofline
from envdoctor.speed.statistics import Comparison
from envdoctor.target import Baseline
from envdoctor.wire import to_json

SCHEMA = 1
Word = Literal["as-expected", "faster", "slower", "unstable", "not-comparable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A judged speed. ``more_processes``: fresh processes that would help to decide (0: final).

    ``comparison`` is None where no baseline allows one; the three words that claim something always carry it.
    """

    word: Word
    workload: str
    cause: Cause | None = None
    reasons: tuple[str, ...] = ()
    more_processes: int = 0
    comparison: Comparison | None = None
    tolerance: float | None = None
    steps_per_second: float | None = None
    tokens_per_second: Mapping[str, float] = field(default_factory=dict)
    roofline: Roofline | None = None
    breakdown: Breakdown = field(default_factory=lambda: Breakdown(seconds=0.0, steps=0))
    machine: Machine | None = None
    reports: tuple[Report, ...] = ()
    baseline: Baseline | None = None
    evidence: str = "none"
    cost: Cost | None = None
    fixed: Cost | None = None  # the same steps at the speed that mending what is wrong would bring

    @property
    def sentence(self) -> str:
        """The verdict with its interval, as one line a person reads."""
        if self.comparison is None:
            return f"{self.word}: {self.reasons[0] if self.reasons else 'no baseline'}"
        c = self.comparison
        low, high = ((edge - 1.0) * 100.0 for edge in c.interval)
        change = (c.ratio - 1.0) * 100.0
        return (
            f"{self.word}: {change:+.1f} % [{low:+.1f}, {high:+.1f}] against the baseline; "
            f"would have caught a slow-down of {c.detectable:.1%} or more"
        )


def as_json(verdict: Verdict) -> dict[str, Any]:
    """The object that `verify --format json` prints: the same keys every time, null or empty where nothing is known."""
    comparison, line = verdict.comparison, verdict.roofline
    return {
        "schema": SCHEMA,
        "verdict": verdict.word,
        "workload": verdict.workload,
        "ratio": _rounded(comparison.ratio) if comparison else None,
        "interval": [_rounded(edge) for edge in comparison.interval] if comparison else None,
        "alpha": comparison.alpha if comparison else None,
        "detectable": _rounded(comparison.detectable) if comparison else None,
        "cause": verdict.cause,
        "steps_per_second": _rounded(verdict.steps_per_second),
        "tokens_per_second": {
            name: _rounded(verdict.tokens_per_second.get(name, 0.0)) for name in ("trained", "real", "slots")
        },
        "mfu": _rounded(line.mfu) if line else None,
        "of_achievable": _rounded(line.of_achievable) if line else None,
        "breakdown": {part: _rounded(share) for part, share in verdict.breakdown.shares.items()},
        "gpu_idle": _rounded(idle_share(verdict.reports)),
        "windows": [[_rounded(rate) for rate in report.rates] for report in verdict.reports],
        "reference_probes": {moment: dict(speeds) for moment, speeds in verdict.reports[0].reference_probes.items()}
        if verdict.reports
        else {},
        "conditions": _conditions(verdict),
        "baseline": to_json(verdict.baseline) if verdict.baseline else {"evidence": "none"},
        "cost": {**_cost(verdict.cost), "fixed": _cost(verdict.fixed) if verdict.fixed else None}
        if verdict.cost
        else None,
    }


def idle_share(reports: Sequence[Report]) -> float | None:
    """Median share of the time in which the GPU ran nothing; None where none was profiled (CPU, no CUPTI)."""
    known = [share for report in reports if isinstance(share := report.gpu_idle.get("share"), (int, float))]
    return statistics.median(known) if known else None


def _cost(cost: Cost) -> dict[str, Any]:
    return {"seconds": _rounded(cost.seconds), "money": _rounded(cost.money)}


def _conditions(verdict: Verdict) -> dict[str, Any]:
    found: dict[str, Any] = {
        "reasons": list(verdict.reasons),
        "sentence": verdict.sentence,
        "evidence": verdict.evidence,
        "diagnosis": breakdown.diagnose(verdict.breakdown),
        "more_processes": verdict.more_processes,
        "tolerance": _rounded(math.expm1(verdict.tolerance)) if verdict.tolerance is not None else None,
        "processes": len(verdict.reports),
    }
    if verdict.reports:
        first = verdict.reports[0]
        found["device"] = to_json(first.device)
        found["versions"] = dict(first.versions)
        found["precision"] = first.precision
        found["warmup"] = to_json(first.warmup)
        found["contention"] = [dict(report.contention) for report in verdict.reports]
        found["pressure"] = [pressure(report) for report in verdict.reports]
        found["flops_per_step"] = first.model.flops_per_step
        found["formula"] = first.model.formula
        found["parameters"] = first.model.parameters
    if verdict.machine is not None and verdict.machine.known:
        found["machine_factor"] = _rounded(math.exp(verdict.machine.log_factor))
        found["probe_ratios"] = {name: _rounded(ratio) for name, ratio in sorted(verdict.machine.ratios.items())}
    if verdict.roofline is not None:
        line = verdict.roofline
        found["roofline"] = {
            "peak": line.peak,
            "achievable": _rounded(line.achievable),
            "source": line.source,
            "limit_steps_per_second": _rounded(line.limit),
            "bandwidth": _rounded(line.bandwidth),
        }
    return found


def _rounded(number: float | None) -> float | None:
    """Six significant digits: beyond any measurement, and short enough to read."""
    return None if number is None or not math.isfinite(number) else float(f"{number:.6g}")
