"""Showing a checkup: on stdout in the format asked for, and in files beside it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from envdoctor.commands._output import append, write
from envdoctor.render.formats import default_format, render_checkup
from envdoctor.render.page import laid_out, terminal
from envdoctor.render.text import text
from envdoctor.rules.checkup import Checkup
from envdoctor.rules.finding import FAIL_ON


def show(
    checkup: Checkup,
    format_: str | None = None,
    outputs: Sequence[tuple[str, Path]] = (),
    *,
    fail_on: str = "warning",
    verbose: bool = False,
) -> None:
    """Print a checkup on stdout, and write it into each of ``outputs``, (format, path).

    Under GitHub Actions the default is annotations, and the Markdown report goes into the step summary by itself.
    """

    def made(name: str) -> str:
        if name == "text":
            return plain(checkup, verbose=verbose)
        return render_checkup(name, checkup, FAIL_ON[fail_on])

    chosen = format_ or default_format(os.environ)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if format_ is None and chosen == "github" and summary:
        append(Path(summary), made("markdown"))
    for name, path in outputs:
        write(path, made(name))
    if chosen == "text":
        width, colour = terminal(sys.stdout, os.environ)
        click.echo(laid_out(text(checkup, verbose=verbose), width=width, colour=colour), nl=False, color=colour)
    else:
        click.echo(made(chosen), nl=False)


def plain(checkup: Checkup, *, verbose: bool) -> str:
    """The text report without colours, 100 columns wide."""
    return laid_out(text(checkup, verbose=verbose))
