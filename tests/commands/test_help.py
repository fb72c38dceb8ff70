"""The help of every command: what people read first, on the narrowest terminal in use."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from envdoctor.cli import envdoctor

COLUMNS = 80


def every_command(
    command: click.Command, names: tuple[str, ...], parent: click.Context | None
) -> Iterator[tuple[tuple[str, ...], click.Context]]:
    context = click.Context(command, info_name=names[-1], parent=parent, terminal_width=COLUMNS)
    yield names, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from every_command(inner, (*names, name), context)


ALL = {" ".join(names): context for names, context in every_command(envdoctor, ("envdoctor",), None)}


@pytest.mark.parametrize("name", ALL)
def test_no_line_is_wider_than_a_terminal(name: str) -> None:
    wide = [line for line in ALL[name].get_help().splitlines() if len(line) > COLUMNS]
    assert wide == []


@pytest.mark.parametrize("name", ALL)
def test_examples_name_options_that_there_are(name: str) -> None:
    """An option that was renamed must not live on in an example."""
    _, _, examples = (ALL[name].command.help or "").partition("Examples:\n")
    for line in examples.partition("\n\n")[0].splitlines():
        words = shlex.split(line.partition(" > ")[0], comments=True)
        if words[:1] != ["envdoctor"] or "train" in words:  # whose options are the trainer's
            continue
        own = words[: words.index("--")] if "--" in words else words
        asked = max((known for known in ALL if words[: len(known.split())] == known.split()), key=len)
        if asked == "envdoctor":
            asked = "envdoctor check"
        known = {name for option in ALL[asked].command.params for name in (*option.opts, *option.secondary_opts)}
        assert {word for word in own if re.match("--?[a-z]", word)} <= known, line


def test_there_are_commands_to_look_at() -> None:
    assert len(ALL) >= 25
    assert {"envdoctor baseline record", "envdoctor lock", "envdoctor mcp"} <= ALL.keys()
