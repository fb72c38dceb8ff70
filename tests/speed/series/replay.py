"""Verdicts judged again from recorded processes: thousands of draws from the machine's own noise.

Each draw takes a baseline of ten quiet processes and a run of others, none twice, and cuts every process's windows
anew in blocks (neighbouring windows stay together: step times are autocorrelated). A slow-down is put in by
stretching the run's windows.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from envdoctor.locks.target import Target
from envdoctor.speed.baselines import recording
from envdoctor.speed.outcome import Verdict
from envdoctor.speed.report import Report, Window
from envdoctor.speed.verdict import judge
from tests.speed.series.recording import Series, read
from tests.speed.series.table import lines

BLOCK = 4  # windows that stay together
SLOW_DOWNS = (0.0, 0.03, 0.05, 0.08, 0.15, 0.30)


def pools(series: Series) -> tuple[list[Report], list[Report]]:
    """Quiet processes (the baseline's own too), and disturbed ones."""
    quiet = [*series.baseline, *(report for run in series.of("quiet") for report in run.reports)]
    return quiet, [report for run in series.of("disturbed") for report in run.reports]


def resampled(report: Report, rng: random.Random, slowdown: float = 0.0) -> Report:
    """The same process with its windows drawn anew, block by block, each ``slowdown`` longer."""
    windows: list[Window] = []
    count = len(report.windows)
    block = min(BLOCK, count)
    while len(windows) < count:
        start = rng.randrange(count - block + 1)
        windows += report.windows[start : start + block]
    stretched = [replace(window, seconds=window.seconds * (1.0 + slowdown)) for window in windows[:count]]
    return replace(report, windows=tuple(stretched))


def draw(
    rng: random.Random, quiet: Sequence[Report], others: Sequence[Report] | None, slowdown: float, processes: int
) -> Verdict:
    """One verdict: a baseline from the quiet pool, a run of up to three processes from ``others`` (default: quiet)."""
    mixed = rng.sample(list(quiet), len(quiet))
    base, left = mixed[:processes], mixed[processes:]
    pool = left if others is None else rng.sample(list(others), min(3, len(others)))
    recorded = recording.record([resampled(report, rng) for report in base], TARGET, "cpu", noisy=True)
    done: list[Report] = []
    while True:
        done.append(resampled(pool[len(done) % len(pool)], rng, slowdown))
        verdict = judge(done, recorded)
        if not verdict.more_processes or len(done) == 3:
            return verdict


TARGET = Target(name="cpu", title="CPU")


def table(series: Series, repetitions: int, seed: int = 0) -> list[str]:
    """How often each word is said: quiet at several slow-downs, and disturbed with nothing wrong."""
    rng = random.Random(seed)
    quiet, disturbed = pools(series)
    processes = min(10, len(quiet) - 3)
    if processes < 3:
        return [f"only {len(quiet)} quiet processes are recorded; a replay needs six"]
    counts: dict[str, dict[str, int]] = {}
    found: dict[str, list[float]] = {}
    cases: list[tuple[str, Sequence[Report] | None, float]] = [
        (f"quiet, {slowdown:.0%} slower", None, slowdown) for slowdown in SLOW_DOWNS
    ]
    if disturbed:
        cases.insert(1, ("disturbed, 0% slower", disturbed, 0.0))
    for name, others, slowdown in cases:
        counts[name], found[name] = {}, []
        for _ in range(repetitions):
            verdict = draw(rng, quiet, others, slowdown, processes)
            counts[name][verdict.word] = counts[name].get(verdict.word, 0) + 1
            if verdict.comparison is not None:
                found[name].append(verdict.comparison.detectable)
    notes = {name: f"would catch {sorted(f)[len(f) // 2]:.1%}" for name, f in found.items() if f}
    head = f"{repetitions} verdicts each, from {len(quiet)} quiet and {len(disturbed)} disturbed processes"
    return [head, *lines(counts, notes)]


def replay(path: Path, repetitions: int) -> list[str]:
    return table(read(path), repetitions)
