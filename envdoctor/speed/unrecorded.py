"""What is judged where nobody recorded a baseline: the card against its kind, then the step against what it allows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from envdoctor.locks.target import Baseline
from envdoctor.speed import breakdown
from envdoctor.speed.decision import COARSEST, Ruling, blockers
from envdoctor.speed.evidence.card import Card
from envdoctor.speed.evidence.evidence import Evidence
from envdoctor.speed.evidence.modelled_step import ModelledStep
from envdoctor.speed.evidence.run import Context, TimedRun

AGAINST = "Hold it against an environment made from the lock: envdoctor verify --against locked"
USUAL = "Leave precision, attention and packing to the trainer (auto), or try each by itself: envdoctor verify --why"
RECORD = "Record it where all is well: envdoctor baseline record --output mine.toml"


def ruling(run: TimedRun, baseline: Baseline | None, context: Context, evidence: Sequence[Evidence]) -> Ruling:
    """What a run comes to that no baseline can be held against."""
    return _of_card(run, baseline, context, evidence) or _not_compared(run, evidence)


def _of_card(run: TimedRun, baseline: Baseline | None, context: Context, evidence: Sequence[Evidence]) -> Ruling | None:
    """None where the card was not seen, or where neighbours disturbed it.

    A sound card is no verdict on the step: a training in the wrong format would run on it just as well.
    """
    card, unrecorded = context.card, baseline is None or not baseline.windows
    disturbed = any(one.cause == "contention" for one in blockers(evidence))
    if card is None or not card.judged or not unrecorded or disturbed:
        return None
    if card.short:
        return _short(card, context.step)
    seen = tuple(one.text for one in card.shares)
    standing = tuple(one.text for one in blockers(evidence) if one.blocks == "unstable")
    if context.step is not None and not standing:
        return _of_step(context.step, seen)
    missing = f"nobody has recorded how fast {run.reports[0].workload or 'this'} should be on it"
    return Ruling(
        word="not-comparable",
        cause=None,
        reasons=(*(one.text for one in blockers(evidence)), *seen),
        because=missing,
        headline=f"The card is as fast as its kind; the step itself cannot be judged: {missing}",
        instead=RECORD,
    )


def _short(card: Card, step: ModelledStep | None) -> Ruling:
    seen = tuple(one.text for one in card.short)
    besides = (f"besides: {step.misses}; {step.text}",) if step is not None and step.slower else ()
    return Ruling(
        word="slower",
        cause="machine",
        reasons=(*seen, *besides),
        because=seen[0],
        headline=f"This card is slower than its kind: {seen[0]}",
        evidence="modelled",
    )


def _of_step(step: ModelledStep, seen: tuple[str, ...]) -> Ruling:
    reasons = (step.text, *seen)
    if step.slower:
        return Ruling(
            word="slower",
            cause=step.cause,
            reasons=(step.misses, *reasons),
            because=step.misses,
            instead=USUAL if step.cause == "settings" else "",
            headline=f"{step.loss:.0%} slower than this card allows: {step.misses}",
            evidence="modelled",
        )
    if step.plausible and step.resolution <= COARSEST:
        return Ruling(
            word="as-expected",
            cause=None,
            reasons=reasons,
            resolution=step.resolution,
            instead=RECORD,
            evidence="modelled",
        )
    if step.plausible:
        because = "the card is as fast as its kind and the step plausible, but even half its speed might be"
    else:
        because = f"the step is {-math.expm1(-step.off):.0%} slower than counted work lets expect, which may err so far"
    return Ruling(
        word="unstable",
        cause=None,
        reasons=reasons,
        because=because,
        resolution=step.resolution,
        instead=AGAINST,
        evidence="modelled",
    )


def _not_compared(run: TimedRun, evidence: Sequence[Evidence]) -> Ruling:
    """Claims, failed runs, other workloads, machines without a common probe: what is seen without a comparison."""
    found = blockers(evidence)
    reasons = [one.text for one in sorted(found, key=lambda one: one.blocks or "")]
    cause = next((one.cause for one in found if one.cause is not None), None)
    if run.breakdown.known and run.breakdown.shares["data"] > breakdown.DATA_WAIT_LIMIT:
        cause = "data"
        reasons.append(breakdown.diagnose(run.breakdown))
    first = min(found, key=lambda one: one.blocks or "") if found else None
    because = (first.plain or first.text) if first is not None else ""
    return Ruling(word="not-comparable", cause=cause, reasons=tuple(reasons), because=because)
