"""Processes of a series as a small file: what the judgement reads of a report, without what every run repeats."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from envdoctor.facts.wire import to_json
from envdoctor.speed import report as reports
from envdoctor.speed.report import Report
from envdoctor.values.document import read_json

SCHEMA = 1
SHARED = (
    "schema",
    "outcome",
    "task",
    "workload",
    "device",
    "model",
    "versions",
    "tokens_per_step",
)  # equal in all runs
OWN = ("settings", "choices", "flags", "windows", "warmup", "reference_probes", "contention")


@dataclass(frozen=True, kw_only=True)
class Run:
    """One verify run as it was: its condition, the verdict's word and figures, and the processes it timed."""

    condition: str
    true: float | None
    word: str
    cause: str | None
    ratio: float | None
    detectable: float | None
    seconds: float
    reports: tuple[Report, ...]
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Series:
    made: str
    command: str
    noisy: bool  # the baseline was recorded with its disturbances
    baseline: tuple[Report, ...]
    runs: tuple[Run, ...]

    def of(self, prefix: str) -> list[Run]:
        return [run for run in self.runs if run.condition.startswith(prefix)]


def write(series: Series, path: Path) -> None:
    every = [*series.baseline, *(report for run in series.runs for report in run.reports)]
    shared = _shared(every[0])
    document = {
        "schema": SCHEMA,
        "made": series.made,
        "command": series.command,
        "noisy": series.noisy,
        "shared": shared,
        "baseline": [_compact(report, shared) for report in series.baseline],
        "runs": [
            {
                **{name: getattr(run, name) for name in ("condition", "true", "word", "cause", "reasons")},
                **{name: _short(getattr(run, name)) for name in ("ratio", "detectable", "seconds")},
                "reports": [_compact(report, shared) for report in run.reports],
            }
            for run in series.runs
        ],
    }
    lines = json.dumps(document, separators=(",", ":"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lines.replace('{"condition"', '\n{"condition"') + "\n", "utf-8")


def read(path: Path) -> Series:
    data = read_json(path, limit=16 * 1024 * 1024)
    if data["schema"] != SCHEMA:
        raise ValueError(f"{path}: schema {data['schema']}, expected {SCHEMA}")
    shared = data["shared"]
    runs = tuple(
        Run(
            reports=tuple(_whole(report, shared) for report in run["reports"]),
            reasons=tuple(run["reasons"]),
            **{name: run[name] for name in ("condition", "true", "word", "cause", "ratio", "detectable", "seconds")},
        )
        for run in data["runs"]
    )
    return Series(
        made=data["made"],
        command=data["command"],
        noisy=data["noisy"],
        baseline=tuple(_whole(report, shared) for report in data["baseline"]),
        runs=runs,
    )


def _shared(report: Report) -> dict[str, Any]:
    whole = to_json(_without_folder(report))
    return {name: whole[name] for name in (*SHARED, "settings", "choices", "flags") if name in whole}


def _without_folder(report: Report) -> Report:
    """Paths differ from run to run and decide nothing."""
    return replace(
        report, settings={name: value for name, value in report.settings.items() if name not in ("output", "cache")}
    )


def _compact(report: Report, shared: dict[str, Any]) -> dict[str, Any]:
    whole = to_json(_without_folder(report))
    empty: dict[str, Any] = {"choices": []}  # what `to_json` leaves out is its default
    own = {
        name: whole.get(name, empty.get(name, {})) for name in (*SHARED, *OWN) if whole.get(name) != shared.get(name)
    }
    own["windows"] = [
        [window.steps, _short(window.seconds), *([_short(window.pace)] if window.pace is not None else [])]
        for window in report.windows
    ]
    seconds = sum(window.seconds for window in report.windows) or 1.0
    parts: dict[str, float] = {}
    for window in report.windows:
        for name, value in window.breakdown.items():
            parts[name] = parts.get(name, 0.0) + value / seconds
    own["breakdown"] = {name: round(share, 4) for name, share in parts.items()}
    return own


def _whole(own: dict[str, Any], shared: dict[str, Any]) -> Report:
    shares = own.get("breakdown", {})
    windows = [
        {
            "steps": steps,
            "seconds": seconds,
            "pace": pace[0] if pace else None,
            "breakdown": {name: share * seconds for name, share in shares.items()},
        }
        for steps, seconds, *pace in own["windows"]
    ]
    return replace(reports.parse({**shared, **own, "windows": windows, "breakdown": {}}), breakdown={})


def _short(number: float | None) -> float | None:
    return None if number is None or not math.isfinite(number) else float(f"{number:.4g}")


def words(runs: Sequence[Run]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for run in runs:
        counts[run.word] = counts.get(run.word, 0) + 1
    return counts
