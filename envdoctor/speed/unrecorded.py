"""What is judged where nobody recorded a baseline: the card against its kind, then the step against what it allows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from envdoctor.locks.target import Baseline
from envdoctor.speed.decision import COARSEST, blockers
from envdoctor.speed.evidence.card import Card
from envdoctor.speed.evidence.evidence import Evidence
from envdoctor.speed.evidence.modelled_step import ModelledStep
from envdoctor.speed.evidence.run import Context, TimedRun
from envdoctor.speed.ruling import Ruling

AGAINST = "Hold it against an environment made from the lock: envdoctor verify --against locked"
USUAL = "Leave precision, attention and packing to the trainer (auto), or try each by itself: envdoctor verify --why"
RECORD = "Record it where all is well: envdoctor baseline record --output mine.toml"


def of_card(run: TimedRun, baseline: Baseline | None, context: Context, evidence: Sequence[Evidence]) -> Ruling | None:
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
