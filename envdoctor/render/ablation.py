"""Ablation tables: ratio, interval, equal losses, memory."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from envdoctor.facts.wire import to_json
from envdoctor.speed.ablation.ablation import Ablation, VariantRow
from envdoctor.speed.report import Report

STYLES = {"faster": "green", "slower": "red"}


def document(ablation: Ablation, reports: Mapping[str, Sequence[Report]], *, command: str = "") -> dict[str, Any]:
    """The JSON of an ablation: the table, and every run's report, so that anyone can judge again.

    ``command``: what was typed.
    """
    return {
        "schema": 1,
        "conditions": _conditions(reports, command),
        "alpha": ablation.alpha,
        "noise": ablation.noise,
        "disturbed": ablation.disturbed,
        "runs": ablation.runs,
        "rows": [_row(row) for row in ablation.rows],
        "reports": {name: [to_json(report) for report in runs] for name, runs in reports.items()},
    }


def _conditions(reports: Mapping[str, Sequence[Report]], command: str) -> dict[str, Any]:
    """Where, when and with what it was measured."""
    first = next((run for runs in reports.values() for run in runs if run.windows), None)
    said: dict[str, Any] = {"command": command, "date": time.strftime("%Y-%m-%d", time.gmtime())}
    if first is not None:
        said["device"] = to_json(first.device)
        said["versions"] = dict(first.versions)
        said["workload"] = first.workload
    return said


def _row(row: VariantRow) -> dict[str, Any]:
    return {
        "name": row.variant.name,
        "why": row.variant.why,
        "against": row.against,
        "word": row.word,
        "ratio": row.ratio,
        "interval": list(row.interval) if row.interval else None,
        "tokens_per_second": row.tokens_per_second,
        "memory": row.memory,
        "losses": to_json(row.losses) if row.losses else None,
        "rounds": row.rounds,
        "remark": row.remark,
    }


def render(ablation: Ablation, console: Console) -> None:
    """The table for a terminal."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("variant", "ratio", "interval", "trained tok/s", "memory", "losses", ""):
        table.add_column(column, justify="left" if column in ("variant", "losses", "") else "right")
    for row in ablation.rows:
        interval = f"[{row.interval[0]:.2f}, {row.interval[1]:.2f}]" if row.interval else ""
        table.add_row(
            Text(row.variant.name),
            Text(f"{row.ratio:.2f}x" if row.ratio else row.word, STYLES.get(row.word, "")),
            Text(interval),
            f"{row.tokens_per_second:,.0f}" if row.tokens_per_second else "",
            f"{row.memory / 1e9:.2f} GB" if row.memory else "",
            Text(row.losses.word if row.losses else ""),
            Text(row.remark, "dim"),
        )
    console.print(table)
    error = f"intervals at alpha {ablation.alpha:g}, noise of one run {ablation.noise:.1%}"
    disturbed = (
        f", {ablation.disturbed} of {ablation.runs} runs disturbed by other programs" if ablation.disturbed else ""
    )
    console.print(Text(f"{error}{disturbed}", "dim"))
