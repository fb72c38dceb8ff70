"""``envdoctor undo``: back to the environment before the last change."""

from __future__ import annotations

import time
from pathlib import Path

import click

from envdoctor import change
from envdoctor.commands import _options
from envdoctor.commands._output import print_json, stdout
from envdoctor.environment import locate


@click.command("undo")
@_options.environment
@click.option("--list", "list_", is_flag=True, help="Show the states that are kept; change nothing.")
@click.option("--to", type=int, metavar="N", help="Go back to state N of --list instead of the last one.")
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text", show_default=True)
def command(env: Path | None, list_: bool, to: int | None, format_: str) -> None:
    """Bring back the environment as it was before the last change, flags and variables included.

    It is one exchange, as the change was; running it again goes forward again.

    \b
    Examples:
      envdoctor undo --env ./env
      envdoctor undo --list
    """
    environment = locate(env)
    change.recover(environment.path)
    if list_:
        states = change.history(environment.path)
        if format_ == "json":
            print_json({"schema": 1, "states": [{"number": s.number, "when": s.when, "what": s.what} for s in states]})
        elif not states:
            stdout().print("Nothing to undo: envdoctor has not changed this environment.")
        for state in states if format_ == "text" else ():
            stdout().print(f"{state.number:>3}  {state.when}  {state.what}", markup=False)
        return
    started = time.monotonic()
    undone = change.undo(environment.path, to=to)
    seconds = time.monotonic() - started
    if format_ == "json":
        print_json({"schema": 1, "undone": undone.what, "seconds": round(seconds, 3)})
    else:
        stdout().print(f"✓ {undone.what} ({seconds:.2f} s)", markup=False)
