"""What write-ups claim of training speed beside what each claim came to where it was measured last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

STATUS = {
    "measured": ("measured", "green"),
    "computed": ("computed", ""),
    "needs-gpu": ("needs a GPU", "yellow"),
    "not-measured": ("not yet", "yellow"),
}


def render(kept: Mapping[str, Any], console: Console) -> None:
    """Claim and answer beneath each other, whatever the terminal's width; then where it was measured, and by whom said.

    ``kept``: the JSON that `python -m tests.benchmarks.claims` writes.
    """
    table = Table(box=None, pad_edge=False, header_style="bold", show_lines=False)
    table.add_column("#", justify="right")
    table.add_column("claimed in a write-up / found here", ratio=1, overflow="fold")
    table.add_column("claim is", no_wrap=True)
    table.add_column("by", no_wrap=True)
    claims = kept["claims"]
    for claim in claims:
        word, style = STATUS[claim["status"]]
        said = Text(f"{claim['claim']} ({', '.join(claim['write_ups'])})", "bold")
        answer = Group(said, Padding(Text(claim["here"]), (0, 0, 0, 2)))
        table.add_row(str(claim["number"]), answer, Text(claim["finding"]), Text(word, style))
    console.print(table)
    counts = {status: sum(claim["status"] == status for claim in claims) for status in STATUS}
    told = [f"{counts['measured']} of {len(claims)} timed or counted, {counts['computed']} computed from own figures"]
    if counts["needs-gpu"]:
        told.append(f"{counts['needs-gpu']} need a GPU and are bounded by arithmetic")
    if counts["not-measured"]:
        told.append(f"{counts['not-measured']} not measured yet")
    console.print(Text("; ".join(told), "dim"))
    console.print(Text(_where(kept["conditions"]), "dim"))
    for name, title in kept["write_ups"].items():
        console.print(Text(f"  {name}: {title}", "dim"))


def _where(conditions: Mapping[str, Any]) -> str:
    device, versions = conditions.get("device") or {}, conditions.get("versions") or {}
    where = f"{device.get('name', '?')}, {device.get('cores', '?')} cores, torch {versions.get('torch', '?')}"
    return f"measured {conditions.get('date', '?')} on {where}: {conditions.get('command', '?')}"
