"""The raw numbers behind the claims as a file: every run's windows, losses and conditions, to be judged again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from envdoctor.errors import Trouble
from envdoctor.speed.ablation.ablation import Ablation, VariantRow, evaluate
from envdoctor.speed.ablation.interleaving import Variant
from envdoctor.speed.ablation.variants import DEFAULT, VARIANTS
from envdoctor.speed.report import parse
from envdoctor.values.document import read_json

Rows = Mapping[tuple[str, str], VariantRow]
KEPT = (
    "schema", "outcome", "device", "windows", "losses", "memory", "contention", "tokens_per_step", "settings", "steps",
    "warmup", "workload", "error",
)  # fmt: skip


def rows_of(ablation: Ablation) -> Rows:
    """Rows by variant and what it was held against."""
    return {(row.variant.name, row.against): row for row in ablation.rows}


def read(path: Path) -> tuple[Rows, Mapping[str, Any], Mapping[str, Any]]:
    """Rows, conditions and experiments of an ablation in a file; a comparison of environments kept with it as well.

    Raises `Trouble` for another file.
    """
    data = read_json(path, limit=256 * 1024 * 1024)
    rows = dict(_judge(data, path))
    for other in data.get("environments", ()):
        rows |= _judge(other, path)
    return rows, data.get("conditions") or {}, data.get("experiments") or {}


def _judge(data: object, path: Path) -> Rows:
    if not isinstance(data, dict) or data.get("schema") != 1 or "reports" not in data:
        raise Trouble("not the JSON of an ablation", file=path, remedy="Make one: envdoctor ablate ... --output FILE")
    reports = {name: [parse(report, path) for report in runs] for name, runs in data["reports"].items()}
    known = {variant.name: variant for variant in (DEFAULT, *VARIANTS)}
    chosen = [known.get(name, Variant(name=name, environment=Path(name))) for name in reports]
    return rows_of(evaluate(chosen, reports))


def slim(data: Mapping[str, Any]) -> dict[str, Any]:
    """A document small enough to keep: of every run its windows, losses, memory and conditions, each once."""
    device = data["conditions"].get("device", {})
    runs = {
        name: [_slim_run({key: report[key] for key in KEPT if key in report}) for report in reports]
        for name, reports in data["reports"].items()
    }
    conditions = {**data["conditions"], "device": {key: value for key, value in device.items() if key != "machine"}}
    return {**data, "conditions": conditions, "reports": runs}


def _slim_run(report: dict[str, Any]) -> dict[str, Any]:
    windows = [{key: window[key] for key in ("steps", "seconds", "tokens")} for window in report.get("windows", ())]
    losses = [None if loss is None else float(f"{loss:.5g}") for loss in (report.get("losses") or ())[:50]]
    device = {key: value for key, value in report.get("device", {}).items() if key != "machine"}
    settings = report.get("settings", {})
    settings = {key: value for key, value in settings.items() if not (isinstance(value, str) and os.path.isabs(value))}
    return {**_short(report), "device": device, "windows": _short(windows), "losses": losses, "settings": settings}


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_short(item) for item in value]
    return {key: _short(item) for key, item in value.items()} if isinstance(value, dict) else value
