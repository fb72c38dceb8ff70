"""The table of a series: how often each word was said, condition by condition, with an upper bound on the errors."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from envdoctor.speed.distributions import incomplete_beta
from tests.speed.series.recording import Run, words

WORDS = ("as-expected", "faster", "slower", "unstable", "not-comparable")


def upper_bound(errors: int, runs: int, confidence: float = 0.95) -> float:
    """The largest true rate that ``errors`` in ``runs`` do not contradict (Clopper and Pearson, one-sided)."""
    if runs == 0 or errors == runs:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        rate = (low + high) / 2.0
        # P(at most `errors` of `runs`) at this rate
        if incomplete_beta(runs - errors, errors + 1, 1.0 - rate) > 1.0 - confidence:
            low = rate
        else:
            high = rate
    return high


def lines(counts: Mapping[str, Mapping[str, int]], note: Mapping[str, str] | None = None) -> list[str]:
    """One line per condition; ``counts`` by condition and word, ``note`` what to add to a line."""
    head = f"{'condition':<26}{'n':>5}" + "".join(f"{word:>16}" for word in WORDS) + "  false at most (95 %)"
    found = [head]
    for name, row in counts.items():
        n = sum(row.values())
        cells = "".join(f"{_cell(row.get(word, 0), n):>16}" for word in WORDS)
        nothing_wrong = not name.startswith("injected") and (" slower" not in name or " 0% slower" in name)
        bound = f"{upper_bound(row.get('slower', 0), n):.1%}" if nothing_wrong else ""
        found.append(f"{name:<26}{n:>5}{cells}  {bound:>8}  {(note or {}).get(name, '')}".rstrip())
    return found


def _cell(count: int, n: int) -> str:
    return f"{count} ({count / n:.1%})" if n else "0"


def of_runs(runs: Sequence[Run]) -> list[str]:
    """The table of real runs: every condition, all disturbed ones together, and what each would have caught."""
    names = list(dict.fromkeys(run.condition for run in runs))
    counts = {name: words([run for run in runs if run.condition == name]) for name in names}
    disturbed = [run for run in runs if run.condition.startswith("disturbed")]
    if disturbed:
        counts["all disturbed"] = words(disturbed)
    notes = {name: _note([run for run in runs if run.condition == name]) for name in names}
    return lines(counts, notes)


def _note(runs: Sequence[Run]) -> str:
    known = [run.detectable for run in runs if run.detectable is not None]
    ratios = [run.ratio for run in runs if run.ratio is not None]
    causes = sorted({run.cause for run in runs if run.cause})
    said = []
    if ratios:
        said.append(f"ratio {statistics.median(ratios):.3f}")
    if known:
        said.append(f"would catch {statistics.median(known):.1%}")
    if causes:
        said.append(f"causes: {', '.join(causes)}")
    return "; ".join(said)
