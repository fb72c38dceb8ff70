"""Speeds and ratios of sides that took turns, with their spread."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tests.benchmarks.turns import Side, Slice

CLOCKS = ("wall", "cpu")
Spread = tuple[float, float, float]  # lower quartile, median, upper quartile


def spread(values: Sequence[float]) -> Spread:
    """Quartiles; of one value, that value."""
    if len(values) < 2:
        return (values[0], values[0], values[0])
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def speed(piece: Slice, clock: str, unit: str) -> float:
    """Units of work per second of that clock in one slice."""
    return float(piece[unit]) / float(piece[clock])


def speeds(side: Side, clock: str, unit: str) -> Spread:
    """Over the slices of a side."""
    return spread([speed(piece, clock, unit) for piece in side.slices])


def ratios(first: Side, second: Side, clock: str, unit: str) -> Spread:
    """How many times as fast `first` is, round by round: what disturbs the machine disturbs both sides of a round."""
    pairs = zip(first.slices, second.slices)
    return spread([speed(a, clock, unit) / speed(b, clock, unit) for a, b in pairs])


def whole(side: Side, clock: str, unit: str) -> float:
    """Units per second over all slices: what spread lengths average to."""
    return float(sum(piece[unit] for piece in side.slices) / sum(piece[clock] for piece in side.slices))


def padding(side: Side) -> float:
    """Share of the computed token slots that held no token."""
    real, slots = (sum(piece[name] for piece in side.slices) for name in ("real", "slots"))
    return float(1 - real / slots)


def flops(side: Side, work: Sequence[float]) -> float:
    """FLOP/s by the wall clock, counting only arithmetic that the loss needs. work: per real token, per trained token,
    per squared document length.
    """
    costs = zip(work, ("real", "trained", "squares"))
    total = sum(cost * piece[name] for cost, name in costs for piece in side.slices)
    return float(total / sum(piece["wall"] for piece in side.slices))


def curve(side: Side, until: float, parts: int = 4) -> list[float]:
    """Mean losses over `parts` equal spans of the first `until` real tokens; each step weighs its tokens."""
    sums = [[0.0, 0.0] for _ in range(parts)]
    seen = 0.0
    for loss, tokens in zip(side.facts["losses"], side.facts["tokens"]):
        if seen + tokens > until:
            break
        place = sums[min(parts - 1, int(parts * seen / until))]
        place[0] += loss * tokens
        place[1] += tokens
        seen += tokens
    return [total / weight for total, weight in sums if weight]


def raw(sides: Sequence[Side]) -> dict[str, dict[str, object]]:
    """Everything that was measured, for JSON."""
    return {side.name: {"slices": side.slices, **side.facts} for side in sides}
