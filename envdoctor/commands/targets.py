"""``envdoctor targets``: which GPUs are known, and how well."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from envdoctor.commands import _options
from envdoctor.commands._output import print_json, stdout
from envdoctor.locks import library
from envdoctor.locks.target import Target


@click.command("targets")
@_options.text_or_json
def command(format_: str) -> None:
    """List the targets: their stacks, and whether their speed is measured, derived, claimed or not known.

    \b
    Examples:
      envdoctor targets
      envdoctor targets --format json
    """
    known = library.load_targets()
    targets = [known[name] for name in (*known.own, *(name for name in known if name not in known.own))]
    if format_ == "json":
        print_json({"schema": 1, "targets": [_row(target) for target in targets]})
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("target", "title", "capability", "stacks", "speed"):
        table.add_column(column)
    for target in targets:
        row = _row(target)
        counts = Counter(f"{b['workload']} {b['evidence']} ({b['stack']})" for b in row["baselines"])
        speed = "; ".join(f"{said}, {count} machines" if count > 1 else said for said, count in counts.items())
        table.add_row(target.name, target.title, target.capability or "-", ", ".join(target.stacks), speed or "none")
    stdout().print(table)


def _row(target: Target) -> dict[str, Any]:
    return {
        "name": target.name,
        "title": target.title,
        "capability": target.capability,
        "stacks": list(target.stacks),
        "baselines": [
            {"workload": b.workload, "stack": b.stack, "evidence": b.evidence, "source": b.source}
            for b in target.baselines
        ],
    }
