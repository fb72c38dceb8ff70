"""``envdoctor undo``: back to the environment before the last change."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

from envdoctor.change.inventory import Departure
from envdoctor.change.recover import recover
from envdoctor.change.tree import abbreviate
from envdoctor.change.undo import history, nobody, undo
from envdoctor.change.values import State
from envdoctor.commands import _options
from envdoctor.commands._environment import environment_of
from envdoctor.commands._output import paste, print_json, quoted, say, stderr, stdout


@click.command("undo")
@_options.environment
@click.option("--list", "list_", is_flag=True, help="Show the states that are kept; change nothing.")
@click.option("--to", type=int, metavar="N", help="Go back to state N of --list instead of the last one.")
@_options.yes
@_options.force("processes are running from the environment")
@_options.text_or_json
def command(env: Path | None, list_: bool, to: int | None, yes: bool, force: bool, format_: str) -> None:
    """Bring back the environment as it was before the last change, flags and variables included.

    It is one exchange, as the change was. The state that is left is kept: `undo --to N` goes forward again. What was
    installed or written since the change is named, and left behind only after a yes; such a state is never deleted.

    Unchanged files are shared by the states (hard links, where the file system cannot share blocks): one that was
    edited in place since is edited in both, and is named.

    \b
    Examples:
      envdoctor undo --env ./env
      envdoctor undo --list
      envdoctor undo --to 2
    """
    environment = environment_of(env)
    recover(environment.path)
    if not environment.path.exists():
        environment.require()
    if list_:
        _list(history(environment.path), format_)
        return
    undone = undo(environment.path, to=to, force=force, agree=lambda departure: _agree(departure, yes=yes))
    if format_ == "json":
        left = {"left_behind": list(undone.behind), "edited_since": list(undone.shared)}
        states = {"before": _state(undone.before), "now": _state(undone.now)}
        print_json({"schema": 1, **states, "seconds": undone.seconds, **left})
    else:
        now, console = undone.now, stdout()
        say(console, f"✓ {undone.environment} is at state {now.number} again: {now.summary}")
        words = f"--env {quoted(str(undone.environment))} --to {undone.before.number}"
        paste(console, f"  Back to state {undone.before.number}: ", f"envdoctor undo {words}")


def _agree(departure: Departure, *, yes: bool) -> None:
    console = stderr()
    if departure.shared:
        say(
            console,
            f"! edited in place since that state was left, and so not as it was: {abbreviate(departure.shared)}",
        )
    if not departure.behind:
        return
    say(console, f"! done since the change, and left behind: {'; '.join(departure.behind)}")
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        nobody(departure)
    click.confirm("Go back without it? The state that is left is kept.", abort=True, err=True)


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
            note = " (changed by others since; kept until you delete it)" if state.changed and not state.current else ""
            say(stdout(), head + state.summary + note, hang=len(head))


def _state(state: State) -> dict[str, object]:
    told = {"number": state.number, "made": state.made, "summary": state.summary}
    return {**told, "current": state.current, "changed": state.changed}
