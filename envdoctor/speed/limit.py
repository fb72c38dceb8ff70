"""Can that be? A claimed speed held against a chip's peak, with every factor of the arithmetic written out."""

from __future__ import annotations

from dataclasses import dataclass

from envdoctor.speed import chips
from envdoctor.speed.chips import Chip
from envdoctor.speed.cost import cost, duration
from envdoctor.speed.roofline import flops


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """``weights`` of all matrices, ``tokens`` of one optimizer step over all devices; ``frozen``: LoRA."""

    weights: float
    tokens: float
    gpu: str
    precision: str = "bfloat16"
    frozen: bool = False
    claim: float | None = None  # steps per second
    steps: int | None = None
    price: float | None = None  # money per hour


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """``possible`` is None without a claim."""

    lines: tuple[str, ...]
    limit: float  # steps per second at the peak
    achievable: float | None  # at what matrix products reach in practice
    possible: bool | None = None


def answer(question: Question) -> Answer:
    """The limit, the claim against it, and what a run of so many steps takes at best.

    Raises ValueError for a chip that is not in the table, and for a number format it has no unit for.
    """
    chip = chips.find(question.gpu) or chips.find(f"NVIDIA {question.gpu}")
    if chip is None:
        known = ", ".join(chip.name for chip in chips.CHIPS)
        raise ValueError(f"the peak of {question.gpu!r} is not known; known are {known}")
    peak = chip.peak(question.precision)
    if peak is None:
        raise ValueError(f"{chip.name} has no unit for {question.precision}")
    work = flops(weights=question.weights, tokens=question.tokens, frozen=question.frozen)
    limit = peak / work
    share = chip.achievable_share()
    reached = limit * share if share else None
    factor = 4 if question.frozen else 6
    lines = [
        f"{factor} x {question.weights:.3g} weights x {question.tokens:,.0f} tokens = {work:.3g} FLOP per step "
        f"({'LoRA: frozen weights need no gradient' if question.frozen else 'forward and backward'}, attention not "
        "counted)",
        f"{chip.name}: {peak:.4g} FLOP/s in {question.precision} at its peak ({chip.source}): "
        f"at most {limit:.2f} steps per second",
    ]
    if reached is not None:
        lines.append(
            f"matrix products reach {share:.0%} of it in practice ({chip.achievable_source}): {reached:.2f} steps per "
            "second"
        )
    possible = None
    if question.claim is not None:
        possible = question.claim <= limit
        lines.append(_on_claim(question.claim, work, limit, reached, chip))
    if question.steps is not None:
        lines += _eta(question, limit, reached)
    return Answer(lines=tuple(lines), limit=limit, achievable=reached, possible=possible)


def _on_claim(claim: float, work: float, limit: float, reached: float | None, chip: Chip) -> str:
    said = f"{claim:g} steps per second would be {claim * work:.3g} FLOP/s, {claim / limit:.0%} of {chip.name}'s peak"
    if claim > limit:
        return f"impossible: {said}"
    if reached is not None and claim > reached:
        return f"beyond what matrix products reach: {said}"
    return f"possible: {said}"


def _eta(question: Question, limit: float, reached: float | None) -> list[str]:
    assert question.steps is not None
    cases = [("at the claim", question.claim), ("at best in practice", reached or limit)]
    lines = []
    for name, speed in cases:
        if speed:
            spent = cost(question.steps, speed, question.price)
            money = "" if spent.money is None else f", {spent.money:.2f} at your price"
            lines.append(f"{question.steps:,} steps {name} ({speed:.3g}/s): {duration(spent.seconds)}{money}")
    return lines
