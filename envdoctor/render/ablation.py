"""Ablation tables: ratio, interval, equal losses, memory; and the claims beside what they come to."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from envdoctor.speed.ablation import Ablation, Row
from envdoctor.speed.claims import Row as ClaimRow
from envdoctor.speed.report import Report
from envdoctor.wire import to_json

STYLES = {"faster": "green", "slower": "red"}


def document(
    ablation: Ablation, reports: Mapping[str, Sequence[Report]], *, command: str = "", found: Mapping[str, Any] = {}
) -> dict[str, Any]:
    """The JSON of an ablation: the table, and every run's report, so that anyone can judge again.

    ``command``: what was typed; ``found``: the experiments on the claims, if they were made.
    """
    return {
        "schema": 1,
        "conditions": _conditions(reports, command),
        **({"experiments": dict(found)} if found else {}),
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


def slim(data: Mapping[str, Any]) -> dict[str, Any]:
    """A document small enough to keep: of every run its windows, losses, memory and conditions, each once."""
    keep: tuple[str, ...] = (
        "schema",
        "outcome",
        "device",
        "windows",
        "losses",
        "memory",
        "contention",
        "tokens_per_step",
        "settings",
    )
    keep += ("steps", "warmup", "workload", "error")
    device = data["conditions"].get("device", {})
    runs = {
        name: [_slim_run({key: report[key] for key in keep if key in report}) for report in reports]
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
    return {**_rounded(report), "device": device, "windows": _rounded(windows), "losses": losses, "settings": settings}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return {key: _rounded(item) for key, item in value.items()} if isinstance(value, dict) else value


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


STATUS = {
    "measured": ("measured", "green"),
    "computed": ("computed", ""),
    "needs-gpu": ("needs a GPU", "yellow"),
    "not-measured": ("not yet", "yellow"),
}


def render_claims(rows: Sequence[ClaimRow], console: Console, conditions: Mapping[str, Any] = {}) -> None:
    """What is claimed, and what it comes to: claim and answer beneath each other, whatever the terminal's width."""
    table = Table(box=None, pad_edge=False, header_style="bold", show_lines=False)
    table.add_column("#", justify="right")
    table.add_column("claimed in the write-ups / found here", ratio=1, overflow="fold")
    table.add_column("claim is", no_wrap=True)
    table.add_column("by", no_wrap=True)
    for row in rows:
        claim = row.claim
        word, style = STATUS[row.status]
        answer = Group(Text(f"{claim.claim} ({claim.seed})", "bold"), Padding(Text(row.here), (0, 0, 0, 2)))
        table.add_row(str(claim.number), answer, Text(claim.finding), Text(word, style))
    console.print(table)
    counts = {status: sum(row.status == status for row in rows) for status in STATUS}
    said = [
        f"{counts['measured']} of {len(rows)} timed or counted, {counts['computed']} computed from their own figures"
    ]
    if counts["needs-gpu"]:
        said.append(f"{counts['needs-gpu']} need a GPU and are bounded by arithmetic")
    if counts["not-measured"]:
        said.append(f"{counts['not-measured']} not measured yet: envdoctor ablate --claims --measure")
    console.print(Text("; ".join(said), "dim"))
    if conditions:
        device, versions = conditions.get("device") or {}, conditions.get("versions") or {}
        where = f"{device.get('name', '?')}, {device.get('cores', '?')} cores, torch {versions.get('torch', '?')}"
        console.print(
            Text(f"measured {conditions.get('date', '?')} on {where}: {conditions.get('command', '?')}", "dim")
        )
