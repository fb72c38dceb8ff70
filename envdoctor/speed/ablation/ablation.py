"""What a setting, a version or a whole environment is worth on this machine: ratios with intervals.

The runs come from `interleaving.plan`. Speed is useful work: trained tokens per second, since a step of one variant
may hold more than a step of another. Equal losses and memory stand beside the speed.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from envdoctor.speed.ablation.interleaving import FEWEST_ROUNDS, Variant
from envdoctor.speed.distributions import t_quantile
from envdoctor.speed.evidence.pressure import PRESSURE_LIMIT, pressure_of
from envdoctor.speed.losses import Losses, compare_losses
from envdoctor.speed.report import Report
from envdoctor.speed.statistics import RUN_SPREAD_FLOOR, process

ALPHA = 0.05
"""Two-sided, per row: a table of ten rows is read with that in mind, and its intervals are printed."""
SAME = 0.02
"""Log effect within which two variants are called equal: nobody acts on 2 %."""
Word = Literal["faster", "slower", "equal", "undecided", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantRow:
    """One variant against its reference: ``ratio`` 1.2 is 20 % more trained tokens per second."""

    variant: Variant
    against: str
    word: Word
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    tokens_per_second: float | None = None
    steps_per_second: float | None = None
    memory: float | None = None  # peak bytes: of the GPU where there is one, else resident
    memory_ratio: float | None = None
    losses: Losses | None = None
    rounds: int = 0
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablation:
    """The table. ``noise``: log-sd of one run, rounds and variants taken out; ``df``: its degrees of freedom."""

    rows: tuple[VariantRow, ...]
    noise: float
    df: int
    alpha: float = ALPHA
    disturbed: int = 0  # runs during which other tasks waited for the CPU
    runs: int = 0


def evaluate(
    variants: Sequence[Variant],
    reports: Mapping[str, Sequence[Report]],
    *,
    against: Literal["first", "previous"] = "first",
) -> Ablation:
    """Judge an ablation: ``reports`` holds, by variant name, the reports of its rounds in order.

    Rounds and variants are taken out of log speeds (two-way layout); what remains is the noise that all intervals
    share. With two variants this is the paired t-test. Raises ValueError without a usable reference.
    """
    speeds = {name: [useful_rate(report) for report in runs] for name, runs in reports.items()}
    complete = [variant for variant in variants if _complete(speeds.get(variant.name, []))]
    if not complete or complete[0].name != variants[0].name:
        raise ValueError(f"the reference {variants[0].name!r} has no complete runs")
    rounds = min(len(speeds[variant.name]) for variant in complete)
    logs = {v.name: [math.log(rate) for rate in speeds[v.name][:rounds] if rate] for v in complete}
    noise, df = _residual(list(logs.values()), rounds)
    every = [report for runs in reports.values() for report in runs]
    rows = []
    reference = variants[0]
    for index, variant in enumerate(variants):
        if variant.name not in logs:
            rows.append(_failed_row(variant, reference.name, reports.get(variant.name, ())))
            continue
        rows.append(_row(variant, reference, logs, reports, noise, df, rounds, is_reference=index == 0))
        if against == "previous":
            reference = variant
    return Ablation(
        rows=tuple(rows),
        noise=noise,
        df=df,
        disturbed=sum(1 for r in every if (pressure_of(r) or 0.0) > PRESSURE_LIMIT.get(r.device.type, 0.25)),
        runs=len(every),
    )


def useful_rate(report: Report) -> float | None:
    """Trained tokens per second: median of the windows' step rates times trained tokens per step; None when failed."""
    if not report.windows:
        return None
    steps = sum(window.steps for window in report.windows)
    trained = sum(window.tokens.get("trained", 0.0) for window in report.windows)
    rate = process(report.rates).rate
    return rate * trained / steps if trained else rate


def _complete(rates: Sequence[float | None]) -> bool:
    return len(rates) >= FEWEST_ROUNDS and all(rate is not None for rate in rates)


def _residual(rows: Sequence[Sequence[float]], rounds: int) -> tuple[float, int]:
    if len(rows) < 2:
        return RUN_SPREAD_FLOOR, 1
    grand = statistics.fmean(value for row in rows for value in row)
    by_round = [statistics.fmean(row[number] for row in rows) for number in range(rounds)]
    squares = sum(
        (row[number] - statistics.fmean(row) - by_round[number] + grand) ** 2
        for row in rows
        for number in range(rounds)
    )
    df = (len(rows) - 1) * (rounds - 1)
    return max(math.sqrt(squares / df), RUN_SPREAD_FLOOR), df


def _row(
    variant: Variant,
    reference: Variant,
    logs: Mapping[str, Sequence[float]],
    reports: Mapping[str, Sequence[Report]],
    noise: float,
    df: int,
    rounds: int,
    *,
    is_reference: bool,
) -> VariantRow:
    ours, theirs = reports[variant.name], reports[reference.name]
    memory = _median_memory(ours)
    usual = _median_memory(theirs)
    found = statistics.fmean(logs[variant.name])
    steps = statistics.median(process(report.rates).rate for report in ours if report.windows)
    common: dict[str, Any] = {
        "variant": variant,
        "tokens_per_second": math.exp(found),
        "steps_per_second": steps,
        "memory": memory,
        "rounds": rounds,
    }
    if is_reference:
        return VariantRow(
            against=variant.name, word="equal", ratio=1.0, interval=(1.0, 1.0), memory_ratio=1.0, **common
        )
    d = found - statistics.fmean(logs[reference.name])
    half = t_quantile(1.0 - ALPHA / 2.0, df) * noise * math.sqrt(2.0 / rounds)
    return VariantRow(
        against=reference.name,
        word=_word(d, half),
        ratio=math.exp(d),
        interval=(math.exp(d - half), math.exp(d + half)),
        memory_ratio=memory / usual if memory and usual else None,
        losses=compare_losses(ours[0], theirs[0]),
        **common,
    )


def _word(d: float, half: float) -> Word:
    if d - half > 0.0:
        return "faster"
    if d + half < 0.0:
        return "slower"
    return "equal" if abs(d) + half <= SAME else "undecided"


def _median_memory(reports: Sequence[Report]) -> float | None:
    peaks = [
        float(peak)
        for report in reports
        if isinstance(peak := report.memory.get("cuda_peak") or report.memory.get("peak_rss"), (int, float))
    ]
    return statistics.median(peaks) if peaks else None


def _failed_row(variant: Variant, against: str, reports: Sequence[Report]) -> VariantRow:
    errors = [str(report.error.get("message", "")) for report in reports if report.error]
    remark = errors[0] if errors else "it did not run"
    return VariantRow(variant=variant, against=against, word="failed", rounds=len(reports), remark=remark)
