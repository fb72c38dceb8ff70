"""Charts as inline SVG, drawn from plain numbers: trace, distribution, stacked bar, ratios with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH = 640
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
    low, high = 0.0, max(rates) * 1.08
    longest = max(len(process) for process in processes)

    def place(index: int, rate: float) -> tuple[float, float]:
        return 50 + (WIDTH - 70) * index / max(longest - 1, 1), 190 - 170 * (rate - low) / (high - low)

    body = _line(50, 190, WIDTH - 20, 190) + _text(46, 194, "0", "end") + _text(46, 32, f"{high:.3g}", "end")
    for number, process in enumerate(processes):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(i, rate) for i, rate in enumerate(process)))
        colour = COLOURS[number % len(COLOURS)]
        body += f'<polyline points="{points}" fill="none" stroke="var({colour})" stroke-width="2"/>'
    if baseline:
        level = place(0, baseline)[1]
        body += _line(50, level, WIDTH - 20, level, "--good") + _text(WIDTH - 22, level - 4, "baseline", "end")
    body += _text(50, 208, "first window") + _text(WIDTH - 20, 208, "last", "end")
    return _svg(214, body, "steps per second of each window")


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


def stacked(shares: Mapping[str, float]) -> str:
    """Where a step's time goes: one bar, with a legend below."""
    shown = {name: share for name, share in shares.items() if share > 0.0005}
    x, body = 0.0, ""
    for number, (name, share) in enumerate(shown.items()):
        body += _box(x, 0, WIDTH * share, 34, COLOURS[number % len(COLOURS)], f"{name} {share:.1%}")
        x += WIDTH * share
    for number, (name, share) in enumerate(shown.items()):
        column, row = number % 4, number // 4
        body += _box(column * 160, 48 + row * 20, 10, 10, COLOURS[number % len(COLOURS)])
        body += _text(column * 160 + 16, 57 + row * 20, f"{name} {share:.1%}")
    return _svg(52 + 20 * math.ceil(len(shown) / 4), body, "where a step's time goes")


def ratios(rows: Sequence[tuple[str, float, tuple[float, float]]]) -> str:
    """Speed ratios with their intervals on a logarithmic axis; 1 is no difference."""
    if not rows:
        return ""
    edges = [edge for _, _, interval in rows for edge in interval if edge > 0] + [0.9, 1.1]
    low, high = math.log(min(edges)), math.log(max(edges))

    def place(ratio: float) -> float:
        return 210 + (WIDTH - 280) * (math.log(max(ratio, 1e-9)) - low) / (high - low)

    body = _line(place(1.0), 4, place(1.0), 24 * len(rows) + 6, "--soft")
    for number, (name, ratio, interval) in enumerate(rows):
        y = 18 + 24 * number
        colour = "--good" if interval[0] > 1 else "--bad" if interval[1] < 1 else "--note"
        body += _text(200, y + 4, name[:34], "end") + _line(place(interval[0]), y, place(interval[1]), y, colour, 2)
        body += f'<circle cx="{place(ratio):.1f}" cy="{y}" r="4" fill="var({colour})"/>'
        body += _text(WIDTH - 4, y + 4, f"{ratio:.2f}x", "end")
    return _svg(24 * len(rows) + 12, body, "speed ratios with intervals")


def levels(rows: Sequence[tuple[str, float]], unit: str) -> str:
    """A few quantities of one unit against each other, as the roofline's speed, limit and peak."""
    if not rows:
        return ""
    most = max(value for _, value in rows) or 1.0
    body = ""
    for number, (name, value) in enumerate(rows):
        y = 6 + 28 * number
        body += _text(0, y + 14, name) + _box(190, y, (WIDTH - 300) * value / most, 18, COLOURS[number % 7])
        body += _text(WIDTH, y + 14, f"{value:,.3g} {unit}", "end")
    return _svg(28 * len(rows) + 8, body, "speed against its limits")
