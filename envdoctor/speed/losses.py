"""Is a faster run still the same training? Its first losses against those of the reference, step by step."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from envdoctor.speed.report import Report

MOST_STEPS = 50
"""Steps compared: beyond, rounding differences grow into different (equally good) trajectories."""
FEWEST_STEPS = 5
LARGEST = 0.03
"""Largest difference of one step's loss, relative: bf16 against float32 stays below 1 % in these steps."""
MEAN = 0.005
"""Largest mean difference, relative. It catches one-sided drifts, such as a dropped micro-batch, that hide in noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """``largest`` and ``mean`` are relative to the reference's loss; ``steps`` were compared."""

    word: Literal["equal", "different", "not-comparable"]
    steps: int = 0
    largest: float | None = None
    mean: float | None = None
    remark: str = ""


def compare_losses(run: Report, reference: Report) -> Losses:
    """Compare the losses of two runs over the same data in the same order.

    Not comparable when their steps hold other tokens (another packing or batch size): then step n of one is not
    step n of the other.
    """
    ours, theirs = run.tokens_per_step.get("trained"), reference.tokens_per_step.get("trained")
    if not ours or not theirs or abs(math.log(ours / theirs)) > 0.05:
        return Losses(word="not-comparable", remark="their steps hold other tokens")
    if run.settings.get("seed") != reference.settings.get("seed"):
        return Losses(word="not-comparable", remark="their seeds differ")
    return of_series(run.losses, reference.losses)


def of_series(run: Sequence[float | None], reference: Sequence[float | None]) -> Losses:
    """Compare two series of losses. A loss that is not a number in one of them only makes them different."""
    pairs = list(zip(run, reference, strict=False))[:MOST_STEPS]
    if any((a is None) != (b is None) for a, b in pairs):
        return Losses(word="different", steps=len(pairs), remark="a loss is not a number in one of the two")
    relative = [(a - b) / abs(b) for a, b in pairs if a is not None and b is not None and b != 0.0]
    if len(relative) < FEWEST_STEPS:
        return Losses(word="not-comparable", steps=len(relative), remark="too few steps were taken by both")
    largest, mean = max(map(abs, relative)), statistics.fmean(relative)
    equal = largest <= LARGEST and abs(mean) <= MEAN
    return Losses(word="equal" if equal else "different", steps=len(relative), largest=largest, mean=mean)
