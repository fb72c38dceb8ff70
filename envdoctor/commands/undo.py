"""``envdoctor undo``: back to the environment before the last change."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import click

from envdoctor.change.recover import recover
from envdoctor.change.undo import history, undo
from envdoctor.change.values import State
from envdoctor.commands import _options
from envdoctor.commands._output import paste, print_json, quoted, say, stdout
from envdoctor.environment import locate


@click.command("undo")
@_options.environment
@click.option("--list", "list_", is_flag=True, help="Show the states that are kept; change nothing.")
@click.option("--to", type=int, metavar="N", help="Go back to state N of --list instead of the last one.")
@click.option("--force", is_flag=True, help="Although processes are running from it.")
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text", show_default=True)
def command(env: Path | None, list_: bool, to: int | None, force: bool, format_: str) -> None:
    """Bring back the environment as it was before the last change, flags and variables included.

    It is one exchange, as the change was. The state that is left is kept: `undo --to N` goes forward again.

    \b
    Examples:
      envdoctor undo --env ./env
      envdoctor undo --list
      envdoctor undo --to 2
    """
    environment = locate(env)
    recover(environment.path)
    if list_:
        _list(history(environment.path), format_)
        return
    undone = undo(environment.path, to=to, force=force)
    if format_ == "json":
        print_json({"schema": 1, "before": _state(undone.before), "now": _state(undone.now), "seconds": undone.seconds})
    else:
        now, console = undone.now, stdout()
        say(console, f"✓ {undone.environment} is at state {now.number} again: {now.summary}")
        words = f"--env {quoted(str(undone.environment))} --to {undone.before.number}"
        paste(console, f"  Back to state {undone.before.number}: ", f"envdoctor undo {words}")


def _list(states: Sequence[State], format_: str) -> None:
    if format_ == "json":
        print_json({"schema": 1, "states": [_state(state) for state in states]})
    elif not states:
        stdout().print("Nothing to undo: envdoctor has not changed this environment.")
    else:
        for state in states:
            mark = "*" if state.current else " "
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(state.made))
            head = f"{mark}{state.number:>3}  {when}  "
            say(stdout(), head + state.summary, hang=len(head))


def _state(state: State) -> dict[str, object]:
    return {"number": state.number, "made": state.made, "summary": state.summary, "current": state.current}
