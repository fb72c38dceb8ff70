"""Plots for a terminal: a row of blocks for a series, bars for a distribution."""

from __future__ import annotations

from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], low: float | None = None, high: float | None = None) -> str:
    """One block per value, from ``low`` to ``high`` (default: the values' own range); empty for no values."""
    if not values:
        return ""
    bottom = min(values) if low is None else low
    top = max(values) if high is None else high
    span = top - bottom
    if span <= 0.0:
        return BLOCKS[len(BLOCKS) // 2] * len(values)
    last = len(BLOCKS) - 1
    return "".join(BLOCKS[min(max(int((value - bottom) / span * len(BLOCKS)), 0), last)] for value in values)


def histogram(values: Sequence[float], bins: int = 8, width: int = 40) -> list[str]:
    """Lines of "from  bar count", equal bins over the range; empty for no values."""
    if not values:
        return []
    low, high = min(values), max(values)
    if high <= low:
        return [f"{low:.4g}  {'█' * width} {len(values)}"]
    counts = [0] * bins
    for value in values:
        counts[min(int((value - low) / (high - low) * bins), bins - 1)] += 1
    edges = [f"{low + index * (high - low) / bins:.4g}" for index in range(bins)]
    margin = max(map(len, edges))
    most = max(counts)
    return [
        f"{edge:>{margin}}  {'█' * round(count / most * width)} {count}".rstrip()
        for edge, count in zip(edges, counts, strict=True)
    ]
