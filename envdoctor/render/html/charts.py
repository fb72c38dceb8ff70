"""Charts as inline SVG, drawn from plain numbers: trace, distribution, stacked bar, ratios with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH = 640
ROW = 40
COLOURS = ("--one", "--two", "--three", "--four", "--five", "--six", "--seven")


def _svg(height: int, body: str, label: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">{body}</svg>'


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str = "--line", width: float = 1.0) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="var({colour})" stroke-width="{width}"/>'


def _box(x: float, y: float, width: float, height: float, colour: str, title: str = "") -> str:
    size = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{max(height, 0.5):.1f}"'
    return f'<rect {size} fill="var({colour})"><title>{escape(title)}</title></rect>'


def trace(processes: Sequence[Sequence[float]], baseline: float | None = None) -> str:
    """Steps per second of each window in order, one line per process; the baseline as a level line."""
    rates = [rate for process in processes for rate in process] + ([baseline] if baseline else [])
    if not rates:
        return ""
    low, high = _range(rates)
    longest = max(len(process) for process in processes)

    def place(index: int, rate: float) -> tuple[float, float]:
        return 50 + (WIDTH - 70) * index / max(longest - 1, 1), 190 - 170 * (rate - low) / (high - low)

    body = _line(50, 190, WIDTH - 20, 190) + _text(46, 194, f"{low:.3g}", "end") + _text(46, 26, f"{high:.3g}", "end")
    for number, process in enumerate(processes):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(i, rate) for i, rate in enumerate(process)))
        colour = COLOURS[number % len(COLOURS)]
        body += f'<polyline points="{points}" fill="none" stroke="var({colour})" stroke-width="2"/>'
    if baseline:
        level = place(0, baseline)[1]
        body += _line(50, level, WIDTH - 20, level, "--good") + _text(WIDTH - 22, level - 4, "baseline", "end")
    body += _text(50, 208, "first window") + _text(WIDTH - 20, 208, "last", "end")
    return _svg(214, body, "steps per second of each window")


def _range(rates: Sequence[float]) -> tuple[float, float]:
    """From zero where speeds differ much, else close around them: both edges are written on the axis."""
    bottom, top = min(rates), max(rates)
    if bottom < 0.6 * top:
        return 0.0, top * 1.08
    margin = max(0.5 * (top - bottom), 0.02 * top)
    return bottom - margin, top + margin


def distribution(rates: Sequence[float], bins: int = 24) -> str:
    """A histogram of window speeds."""
    if len(rates) < 2:
        return ""
    low, high = min(rates), max(rates)
    span = (high - low) or high * 0.01 or 1.0
    counts = [0] * bins
    for rate in rates:
        counts[min(int((rate - low) / span * bins), bins - 1)] += 1
    width = (WIDTH - 70) / bins
    body = _line(50, 120, WIDTH - 20, 120)
    for number, count in enumerate(counts):
        height = 100 * count / max(counts)
        if count:
            body += _box(50 + number * width + 1, 120 - height, width - 2, height, "--one", f"{count} windows")
    body += _text(50, 136, f"{low:.3g} it/s") + _text(WIDTH - 20, 136, f"{high:.3g} it/s", "end")
    return _svg(142, body, "distribution of window speeds")


def stacked_bar(shares: Mapping[str, float]) -> str:
    """Where a step's time goes: one bar; its legend is `legend`."""
    x, body = 0.0, ""
    for name, share, colour in _parts(shares):
        body += _box(x, 0, WIDTH * share, 34, colour, f"{name} {share:.1%}")
        x += WIDTH * share
    return _svg(36, body, "where a step's time goes")


def legend(shares: Mapping[str, float]) -> str:
    """The names and shares of a stacked bar, as text that wraps."""
    parts = [
        f'<span><i style="background:var({colour})"></i>{escape(name)} {share:.1%}</span>'
        for name, share, colour in _parts(shares)
    ]
    return f'<div class="legend">{"".join(parts)}</div>'


def _parts(shares: Mapping[str, float]) -> list[tuple[str, float, str]]:
    shown = [(name, share) for name, share in shares.items() if share > 0.0005]
    return [(name, share, COLOURS[number % len(COLOURS)]) for number, (name, share) in enumerate(shown)]


def ratios(rows: Sequence[tuple[str, float, tuple[float, float]]]) -> str:
    """Speed ratios as bars from 1 with their intervals, on a logarithmic axis; 1 is no difference."""
    if not rows:
        return ""
    edges = [edge for _, _, interval in rows for edge in interval if edge > 0] + [0.9, 1.1]
    low, high = math.log(min(edges)), math.log(max(edges))

    def place(ratio: float) -> float:
        return 6 + (WIDTH - 90) * (math.log(max(ratio, 1e-9)) - low) / (high - low)

    body = ""
    for number, (name, ratio, interval) in enumerate(rows):
        y = 16 + ROW * number
        colour = "--good" if interval[0] > 1 else "--bad" if interval[1] < 1 else "--note"
        left, right = sorted((place(1.0), place(ratio)))
        body += _text(0, y, name[:50]) + _line(place(1.0), y + 4, place(1.0), y + 22, "--soft")
        body += _box(left, y + 7, right - left, 12, colour)
        body += _line(place(interval[0]), y + 13, place(interval[1]), y + 13, "--ink", 2)
        body += _text(WIDTH - 4, y + 17, f"{ratio:.2f}x", "end")
    return _svg(ROW * len(rows) + 4, body, "speed ratios with intervals")


def levels(rows: Sequence[tuple[str, float]], unit: str) -> str:
    """A few quantities of one unit against each other, as a speed before and after."""
    if not rows:
        return ""
    most = max(value for _, value in rows) or 1.0
    body = ""
    for number, (name, value) in enumerate(rows):
        y = 16 + ROW * number
        body += _text(0, y, name) + _text(WIDTH, y, f"{_number(value)} {unit}", "end")
        body += _box(0, y + 6, WIDTH * value / most, 14, COLOURS[number % 7])
    return _svg(ROW * len(rows) + 4, body, "quantities side by side")


def roofline(peak: float, achievable: float | None, bandwidth: float, intensity: float, reached: float) -> str:
    """FLOP/s over FLOP per byte, both logarithmic: the roof of memory and of arithmetic, and where the run stands.

    ``peak``, ``achievable`` and ``reached`` in FLOP/s, ``bandwidth`` in bytes/s, ``intensity`` in FLOP per byte.
    """
    if min(peak, bandwidth, intensity, reached) <= 0.0:
        return ""
    ridge = peak / bandwidth
    left, right = math.log10(min(ridge, intensity)) - 0.7, math.log10(max(ridge, intensity)) + 0.7
    bottom, top = math.log10(min(reached, bandwidth * 10**left)) - 0.2, math.log10(peak) + 0.25

    def place(x: float, y: float) -> str:
        return f"{across(x):.1f},{down(y):.1f}"

    def across(x: float) -> float:
        return 10 + (WIDTH - 20) * (math.log10(x) - left) / (right - left)

    def down(y: float) -> float:
        return 210 - 195 * (math.log10(y) - bottom) / (top - bottom)

    roof = " ".join((place(10**left, bandwidth * 10**left), place(ridge, peak), place(10**right, peak)))
    body = _line(10, 210, WIDTH - 10, 210)
    body += f'<polyline points="{roof}" fill="none" stroke="var(--ink)" stroke-width="2"/>'
    body += _text(WIDTH - 12, down(peak) - 6, f"peak {_si(peak)}FLOP/s", "end")
    if achievable and achievable < peak:
        from_ = max(achievable / bandwidth, 10**left)
        body += _line(across(from_), down(achievable), WIDTH - 10, down(achievable), "--good", 1.5)
        body += _text(WIDTH - 12, down(achievable) + 15, f"reached by matrix products {_si(achievable)}FLOP/s", "end")
    body += _text(14, 204, f"memory {_si(bandwidth)}B/s")
    x, y = across(intensity), down(reached)
    body += _line(x, y, x, down(min(peak, bandwidth * intensity)), "--soft")
    anchor = "end" if x > WIDTH / 2 else "start"
    body += f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="var(--one)"/>'
    body += _text(x - 12 if anchor == "end" else x + 12, y + 5, f"this run {_si(reached)}FLOP/s", anchor)
    body += _text(WIDTH - 12, 226, f"FLOP per byte of memory traffic (this run at most {intensity:.3g})", "end")
    return _svg(232, body, "roofline")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _si(value: float) -> str:
    for size, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")):
        if value >= size:
            return f"{value / size:.3g} {prefix}"
    return f"{value:.3g} "
