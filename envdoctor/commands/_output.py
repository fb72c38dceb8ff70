"""Where results go: data on stdout, everything else on stderr, files where asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from envdoctor.commands import _failure
from envdoctor.errors import Trouble
from envdoctor.values import shell

if TYPE_CHECKING:
    from rich.console import Console


def stdout() -> Console:
    """For reports: colours only on a terminal, the terminal's width, or 100 columns into a file."""
    from rich.console import Console  # not before it is needed: `check` prints without

    return Console(highlight=False, width=None if sys.stdout.isatty() else 100, soft_wrap=False)


def stderr() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say(console: Console, text: str, *, style: str | None = None, hang: int | None = None) -> None:
    """A sentence of ours, wrapped at words; further lines begin at column ``hang``, or a little after the first."""
    indent = " " * (len(text) - len(text.lstrip()) + 2 if hang is None else hang)
    import textwrap

    from envdoctor.render.page import IN_WORDS

    held = IN_WORDS.sub(lambda found: found[0].replace(" ", "\0"), text)  # a line break in a command would be copied
    lines = textwrap.wrap(
        held, max(console.width, 20), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    console.print("\n".join(lines).replace("\0", " "), style=style, markup=False, soft_wrap=True)


def paste(console: Console, label: str, command: str) -> None:
    """A command for the user to paste: in one line, however long it is."""
    console.print(f"{label}{command}", style="dim", markup=False, soft_wrap=True)


quoted = shell.word


def count_noun(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def as_json(document: Any) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def print_json(document: Any) -> None:
    """The answer on stdout, once."""
    _failure.stdout_taken()
    click.echo(as_json(document), nl=False)


def write(path: Path, text: str) -> None:
    """Write a report whole or not at all. Raises `Trouble` naming the file."""
    temporary = path.with_name(f".{path.name}.partial")
    try:
        temporary.write_text(text, "utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise Trouble(error.strerror or str(error), file=path, remedy="Choose a folder that can be written.") from error


def append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise Trouble(error.strerror or str(error), file=path) from error
