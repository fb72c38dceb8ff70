"""The verdict as a value, as a sentence, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from envdoctor.facts.wire import to_json
from envdoctor.locks.target import Baseline
from envdoctor.speed import breakdown
from envdoctor.speed.breakdown import Breakdown
from envdoctor.speed.cost import Cost
from envdoctor.speed.decision import Word
from envdoctor.speed.evidence.evidence import Cause
from envdoctor.speed.evidence.machine import MachineSpeed
from envdoctor.speed.evidence.modelled_step import ModelledStep
from envdoctor.speed.evidence.pressure import pressure_of
from envdoctor.speed.report import Report, idle_share
from envdoctor.speed.roofline import Roofline
from envdoctor.speed.statistics import Comparison

SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A judged speed. ``more_processes``: fresh processes that would help to decide (0: final).

    ``comparison`` is None where no baseline allows one. Of the three words that claim something only *slower* can go
    without: where the card itself falls short of its kind.
    """

    word: Word
    workload: str
    cause: Cause | None = None
    reasons: tuple[str, ...] = ()
    more_processes: int = 0
    because: str = ""  # why, in plain words
    instead: str = ""  # what can be done, where nothing could be judged
    headline: str = ""  # said instead of the word's own sentence
    comparison: Comparison | None = None
    resolution: float | None = None  # the slow-down (0.2: 20 %) from which on it would have shown
    tolerance: float | None = None
    steps_per_second: float | None = None
    tokens_per_second: Mapping[str, float] = field(default_factory=dict)
    roofline: Roofline | None = None
    breakdown: Breakdown = field(default_factory=lambda: Breakdown(seconds=0.0, steps=0))
    machine: MachineSpeed | None = None
    step: ModelledStep | None = None
    reports: tuple[Report, ...] = ()
    baseline: Baseline | None = None
    evidence: str = "none"
    cost: Cost | None = None
    fixed: Cost | None = None  # the same steps at the speed that mending what is wrong would bring

    @property
    def sentence(self) -> str:
        """The verdict as one line that a person acts on, without figures beyond the one that matters."""
        if self.headline:
            return self.headline
        c = self.comparison
        if self.word == "as-expected":
            return f"As expected; a slow-down of {self.resolution or 1.0:.0%} or more would have shown"
        if self.word == "faster" and c is not None:
            return f"{c.ratio - 1.0:.0%} faster than expected"
        if self.word == "slower" and c is not None:
            taken_off = self.machine.log_factors if self.cause == "machine" and self.machine is not None else ()
            own = math.exp(sum(taken_off) / len(taken_off)) if taken_off else 1.0  # a slow machine is slow by the clock
            return f"{1.0 - c.ratio * own:.0%} slower than expected: {self.because}"
        return f"Cannot tell: {self.because or 'there is nothing to compare with'}"

    @property
    def figures(self) -> str:
        """The ratio with its interval, and what would have been caught; empty without a comparison."""
        c = self.comparison
        if c is None:
            return ""
        low, high = ((edge - 1.0) * 100.0 for edge in c.interval)
        return (
            f"{self.word}: {(c.ratio - 1.0) * 100.0:+.1f} % [{low:+.1f}, {high:+.1f}] against the baseline; "
            f"would have caught a slow-down of {c.detectable:.1%} or more"
        )

    @property
    def next_step(self) -> str:
        """What to do about it; empty where nothing is to be done."""
        if self.instead or self.word in ("as-expected", "faster"):
            return self.instead
        if self.comparison is None and self.cause is None:
            return ""
        return NEXT.get(self.cause, "")


NEXT: Mapping[Cause | None, str] = {
    None: "Try what could explain it, one suspect at a time: envdoctor verify --why",
    "contention": "Measure again when nothing else uses this machine.",
    "machine": "The machine's state is for who rents it out; envdoctor check names what it sees of it.",
    "stack": "Install the locked versions: envdoctor fix",
    "settings": "Set them as the baseline has them, or try each by itself: envdoctor verify --why",
    "data": "Prepare the data before training, or ahead of its step; envdoctor verify --why tries it.",
}


def as_json(verdict: Verdict) -> dict[str, Any]:
    """The object that `verify --format json` prints: the same keys every time, null or empty where nothing is known."""
    comparison, line = verdict.comparison, verdict.roofline
    return {
        "schema": SCHEMA,
        "verdict": verdict.word,
        "workload": verdict.workload,
        "ratio": _round(comparison.ratio) if comparison else None,
        "interval": [_round(edge) for edge in comparison.interval] if comparison else None,
        "alpha": comparison.alpha if comparison else None,
        "detectable": _round(comparison.detectable) if comparison else None,
        "cause": verdict.cause,
        "steps_per_second": _round(verdict.steps_per_second),
        "tokens_per_second": {
            name: _round(verdict.tokens_per_second.get(name, 0.0)) for name in ("trained", "real", "slots")
        },
        "mfu": _round(line.mfu) if line else None,
        "of_achievable": _round(line.of_achievable) if line else None,
        "breakdown": {part: _round(share) for part, share in verdict.breakdown.shares.items()},
        "gpu_idle": _round(idle_share(verdict.reports)),
        "windows": [[_round(rate) for rate in report.rates] for report in verdict.reports],
        "reference_probes": {moment: dict(speeds) for moment, speeds in verdict.reports[0].reference_probes.items()}
        if verdict.reports
        else {},
        "conditions": _conditions(verdict),
        "baseline": to_json(verdict.baseline) if verdict.baseline else {"evidence": "none"},
        "cost": {**_cost(verdict.cost), "fixed": _cost(verdict.fixed) if verdict.fixed else None}
        if verdict.cost
        else None,
    }


def _cost(cost: Cost) -> dict[str, Any]:
    currency = cost.price.currency if cost.price is not None else ""
    return {"seconds": _round(cost.seconds), "money": _round(cost.money), "currency": currency or None}


def _conditions(verdict: Verdict) -> dict[str, Any]:
    found: dict[str, Any] = {
        "reasons": list(verdict.reasons),
        "sentence": verdict.sentence,
        "figures": verdict.figures or None,
        "next": verdict.next_step or None,
        "resolution": _round(verdict.resolution),
        "evidence": verdict.evidence,
        "diagnosis": breakdown.diagnose(verdict.breakdown),
        "more_processes": verdict.more_processes,
        "tolerance": _round(math.expm1(verdict.tolerance)) if verdict.tolerance is not None else None,
        "processes": len(verdict.reports),
    }
    if verdict.reports:
        first = verdict.reports[0]
        found["device"] = to_json(first.device)
        found["versions"] = dict(first.versions)
        found["precision"] = first.precision
        found["warmup"] = to_json(first.warmup)
        found["contention"] = [dict(report.contention) for report in verdict.reports]
        found["pressure"] = [pressure_of(report) for report in verdict.reports]
        found["flops_per_step"] = first.model.flops_per_step
        found["formula"] = first.model.formula
        found["parameters"] = first.model.parameters
    if verdict.step is not None:
        expected = verdict.step.expected
        found["modelled"] = {
            "seconds": _round(expected.seconds),
            "measured_seconds": _round(verdict.step.seconds),
            "log_sd": _round(expected.log_sd),
            "parts": {part: _round(seconds) for part, seconds in expected.parts.items()},
            "misses": verdict.step.misses if verdict.step.slower else None,
        }
    if verdict.machine is not None and verdict.machine.known:
        found["machine_factor"] = _round(math.exp(verdict.machine.log_factor))
        found["probe_ratios"] = {name: _round(ratio) for name, ratio in sorted(verdict.machine.ratios.items())}
    if verdict.roofline is not None:
        line = verdict.roofline
        found["roofline"] = {
            "peak": line.peak,
            "achievable": _round(line.achievable),
            "source": line.source,
            "limit_steps_per_second": _round(line.limit),
            "bandwidth": _round(line.bandwidth),
        }
    return found


def _round(number: float | None) -> float | None:
    """Six significant digits: beyond any measurement, and short enough to read."""
    return None if number is None or not math.isfinite(number) else float(f"{number:.6g}")
