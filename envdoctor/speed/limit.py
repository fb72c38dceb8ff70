"""Can that be? A claimed speed held against a chip's peak, with every factor of the arithmetic written out."""

from __future__ import annotations

from dataclasses import dataclass

from envdoctor.knowledge import gpus
from envdoctor.knowledge.gpus import GpuModel
from envdoctor.speed.cost import Price, cost
from envdoctor.speed.roofline import flops


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedSpeed:
    """``weights`` of all matrices, ``tokens`` of one optimizer step over all devices; ``frozen``: LoRA."""

    weights: float
    tokens: float
    gpu: str
    precision: str = "bfloat16"
    frozen: bool = False
    claim: float | None = None  # steps per second
    steps: int | None = None
    price: Price | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedLimit:
    """``possible`` is None without a claim."""

    lines: tuple[str, ...]
    limit: float  # steps per second at the peak
    achievable: float | None  # at what matrix products reach in practice
    possible: bool | None = None


def answer(claimed: ClaimedSpeed) -> SpeedLimit:
    """The limit, the claim against it, and what a run of so many steps takes at best.

    Raises ValueError for a chip that is not in the table, and for a number format it has no unit for.
    """
    chip = gpus.board(claimed.gpu)
    if chip is None or not chip.peak:
        raise ValueError(f"the peak of {claimed.gpu!r} is not known{_near(claimed.gpu)}")
    peak, most = chip.peak_flops(claimed.precision), chip.ceiling(claimed.precision)
    if peak is None or most is None:
        raise ValueError(f"{chip.name} has no unit for {claimed.precision}, or nobody published its speed")
    work = flops(weights=claimed.weights, tokens=claimed.tokens, frozen=claimed.frozen)
    limit = peak / work
    share = chip.achievable_share()
    reached = limit * share if share else None
    factor = 4 if claimed.frozen else 6
    lines = [
        f"{factor} x {claimed.weights:.3g} weights x {claimed.tokens:,.0f} tokens = {work:.3g} FLOP per step "
        f"({'LoRA: frozen weights need no gradient' if claimed.frozen else 'forward and backward'}, attention not "
        "counted)",
        f"{chip.name}: {peak:.4g} FLOP/s in {claimed.precision} at its peak ({chip.peak_source}): "
        f"at most {limit:.2f} steps per second",
    ]
    if reached is not None:
        lines.append(
            f"matrix products reach {share:.0%} of it in practice ({chip.achievable_source}): {reached:.2f} steps per "
            "second"
        )
    possible = None
    if claimed.claim is not None:
        possible = claimed.claim <= most / work
        lines.append(_on_claim(claimed.claim, work, limit, reached, chip, possible))
    if claimed.steps is not None:
        lines += _eta(claimed, limit, reached)
    return SpeedLimit(lines=tuple(lines), limit=limit, achievable=reached, possible=possible)


def _near(name: str) -> str:
    """Names with a peak that are spelled nearly so."""
    import difflib  # for a mistake only

    known = {spelled: model.name for model in gpus.models().every() if model.peak for spelled in model.spellings}
    found = dict.fromkeys(known[each] for each in difflib.get_close_matches(name, known, n=5, cutoff=0.4))
    return f"; known are, for example, {', '.join(found)}" if found else ""


def _on_claim(claim: float, work: float, limit: float, reached: float | None, chip: GpuModel, possible: bool) -> str:
    said = f"{claim:g} steps per second would be {claim * work:.3g} FLOP/s, {claim / limit:.0%} of {chip.name}'s peak"
    if not possible:
        return f"impossible: {said}"
    if claim > limit:
        return f"above the rated peak, which such cards exceed by up to {gpus.BOOST - 1:.0%}: {said}"
    if reached is not None and claim > reached:
        return f"beyond what matrix products reach: {said}"
    return f"possible: {said}"


def _eta(claimed: ClaimedSpeed, limit: float, reached: float | None) -> list[str]:
    assert claimed.steps is not None
    cases = [("at the claim", claimed.claim), ("at best in practice", reached or limit)]
    lines = []
    for name, speed in cases:
        if speed:
            spent = cost(claimed.steps, speed, claimed.price)
            lines.append(f"{claimed.steps:,} steps {name} ({speed:.3g}/s): {spent.sentence}")
    return lines
