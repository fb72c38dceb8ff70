"""Ablation tables: ratio, interval, equal losses, memory; and the claims beside what they come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from envdoctor.speed.ablation import Ablation, Row
from envdoctor.speed.claims import Row as ClaimRow
from envdoctor.speed.report import Report
from envdoctor.wire import to_json

STYLES = {"faster": "green", "slower": "red"}


def document(ablation: Ablation, reports: Mapping[str, Sequence[Report]]) -> dict[str, Any]:
    """The JSON of an ablation: the table, and every run's report, so that anyone can judge again."""
    return {
        "schema": 1,
        "alpha": ablation.alpha,
        "noise": ablation.noise,
        "disturbed": ablation.disturbed,
        "runs": ablation.runs,
        "rows": [_row(row) for row in ablation.rows],
        "reports": {name: [to_json(report) for report in runs] for name, runs in reports.items()},
    }


def _row(row: Row) -> dict[str, Any]:
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


def render_claims(rows: Sequence[ClaimRow], console: Console) -> None:
    """What is claimed, and what it comes to."""
    table = Table(box=None, pad_edge=False, header_style="bold", show_lines=False)
    table.add_column("#", justify="right")
    table.add_column("claimed", ratio=2, overflow="fold")
    table.add_column("finding", overflow="fold")
    table.add_column("here", ratio=3, overflow="fold")
    for row in rows:
        claim = row.claim
        claimed = f"{claim.claim} ({claim.seed})"
        table.add_row(
            str(claim.number), Text(claimed), Text(claim.finding), Text(row.here, "" if row.measured else "dim")
        )
    console.print(table)
    measured = sum(row.measured for row in rows)
    console.print(
        Text(f"{measured} of {len(rows)} measured in this run; the others by arithmetic or by reading", "dim")
    )
