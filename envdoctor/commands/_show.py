"""Showing a checkup: on stdout in the format asked for, and in files beside it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from envdoctor.commands._output import append, write
from envdoctor.errors import Trouble
from envdoctor.render.formats import FORMATS, rendered, suited
from envdoctor.render.page import laid_out, terminal
from envdoctor.render.text import text
from envdoctor.rules.checkup import Checkup
from envdoctor.rules.rule import FAIL_ON


def show(
    checkup: Checkup,
    format_: str | None = None,
    outputs: Sequence[str] = (),
    *,
    fail_on: str = "warning",
    verbose: bool = False,
) -> None:
    """Print a checkup on stdout, and write it into each ``FORMAT=PATH`` of ``outputs``.

    Under GitHub Actions the default is annotations, and the Markdown report goes into the step summary by itself.
    """

    def made(name: str) -> str:
        if name == "text":
            return plain(checkup, verbose=verbose)
        return rendered(name, checkup, FAIL_ON[fail_on])

    wanted = [parsed(output) for output in outputs]
    chosen = format_ or suited(os.environ)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if format_ is None and chosen == "github" and summary:
        append(Path(summary), made("markdown"))
    for name, path in wanted:
        write(path, made(name))
    if chosen == "text":
        width, colour = terminal(sys.stdout, os.environ)
        click.echo(laid_out(text(checkup, verbose=verbose), width=width, colour=colour), nl=False, color=colour)
    else:
        click.echo(made(chosen), nl=False)


def parsed(output: str) -> tuple[str, Path]:
    """``FORMAT=PATH`` in its parts. Raises `Trouble` for anything else."""
    name, _, path = output.partition("=")
    if name not in FORMATS or not path:
        raise Trouble(
            f"expected FORMAT=PATH, found {output!r}", where="--output", remedy=f"One of {', '.join(FORMATS)}"
        )
    return name, Path(path)


def plain(checkup: Checkup, *, verbose: bool) -> str:
    """The text report without colours, 100 columns wide."""
    return laid_out(text(checkup, verbose=verbose))
