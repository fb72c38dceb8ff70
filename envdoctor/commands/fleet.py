"""``envdoctor fleet``: which machine differs from the others."""

from __future__ import annotations

from pathlib import Path

import click

from envdoctor import collect
from envdoctor.commands._output import print_json, stdout
from envdoctor.errors import Trouble
from envdoctor.fleet import Comparison, compare
from envdoctor.scrub import printable


@click.command("fleet")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text", show_default=True)
def command(files: tuple[Path, ...], format_: str) -> int:
    """Compare the facts of many machines and name the odd one out.

    FILES are written by `envdoctor facts -o NAME.json`, one on each machine; the file's name is the machine's.

    \b
    Example:
      for host in gpu1 gpu2 gpu3; do ssh $host envdoctor facts > $host.json; done; envdoctor fleet gpu*.json

    Exit codes: 0 all alike, 1 differences, 2 a file could not be read.
    """
    if len(files) < 2:
        raise Trouble("a fleet is at least two machines", remedy="Give the facts files of all of them.")
    names = [path.stem for path in files]
    if len(set(names)) < len(names):
        names = [str(path) for path in files]
    comparison = compare({name: collect.read(path) for name, path in zip(names, files, strict=True)})
    if format_ == "json":
        oddities = [{"subject": o.subject, "usual": o.usual, "odd": dict(o.odd)} for o in comparison.oddities]
        machines = list(comparison.machines)
        odd_one_out = comparison.odd_one_out
        print_json({"schema": 1, "machines": machines, "odd_one_out": odd_one_out, "differences": oddities})
    else:
        _show(comparison)
    return 1 if comparison.oddities else 0


def _show(comparison: Comparison) -> None:
    console = stdout()
    if not comparison.oddities:
        console.print(f"✓ {len(comparison.machines)} machines, all alike")
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("what", "most have", "but"):
        table.add_column(column, overflow="fold")
    for oddity in comparison.oddities:
        but = ", ".join(f"{name}: {value}" for name, value in oddity.odd.items())
        table.add_row(printable(oddity.subject), printable(oddity.usual), printable(but))
    console.print(table)
    if comparison.odd_one_out:
        console.print(f"\nThe odd one out is {printable(comparison.odd_one_out)}.", markup=False)
