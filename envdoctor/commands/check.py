"""``envdoctor check``: examine an environment and say what is wrong."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from envdoctor import collect, doctor
from envdoctor.commands import _options
from envdoctor.commands._output import append, stdout, write
from envdoctor.doctor import Examination, Question
from envdoctor.environment import locate
from envdoctor.errors import Trouble


@click.command("check")
@_options.environment
@_options.target
@click.option("--no-torch", is_flag=True, help="Do not import torch (faster; precision and attention are not judged).")
@click.option("--deep", is_flag=True, help="Hash every installed file against its RECORD.")
@click.option("--facts", "facts_file", type=click.Path(path_type=Path), help="Judge recorded facts instead.")
@click.option(
    "--script",
    "scripts",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Read a training script too.",
)
@click.option("--torch-deadline", default=60.0, show_default=True, metavar="SECONDS", help="For importing torch.")
@_options.formats
@_options.selection
@_options.fail_on
@_options.verbose
def command(
    env: Path | None,
    target_name: str,
    stack: str | None,
    no_torch: bool,
    deep: bool,
    facts_file: Path | None,
    scripts: tuple[Path, ...],
    torch_deadline: float,
    format_: str | None,
    outputs: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str,
    verbose: bool,
) -> int:
    """Check an environment against the known-fast lockfile of its GPU.

    \b
    Examples:
      envdoctor check
      envdoctor check --target h100 --env /opt/venv
      envdoctor check --format json --fail-on error > report.json

    Exit codes: 0 healthy, 1 findings, 2 wrong usage, 3 the environment could not be examined.
    """
    started = time.monotonic()
    question = Question(
        target=target_name,
        stack=stack,
        torch=not no_torch,
        deep=deep,
        torch_deadline=torch_deadline,
        scripts=scripts,
        select=select,
        ignore=ignore,
    )
    if facts_file is not None:
        examination = doctor.judge(collect.read(facts_file), question)
    else:
        examination = doctor.examine(locate(env), question)
    examination = replace(examination, seconds=time.monotonic() - started)
    show(examination, question, format_, outputs, fail_on=fail_on, verbose=verbose)
    return exit_code(examination, fail_on)


def show(
    examination: Examination,
    question: Question,
    format_: str | None = None,
    outputs: Sequence[str] = (),
    *,
    fail_on: str = "warning",
    verbose: bool = False,
) -> None:
    """Print an examination on stdout, and write it into each ``FORMAT=PATH`` of ``outputs``.

    Under GitHub Actions the default is annotations, and the Markdown report goes into the step summary by itself.
    """
    from envdoctor.render.formats import FORMATS, rendered, suited

    rules = doctor.chosen_rules(question)
    severity = _options.FAIL_ON[fail_on]
    wanted = [tuple(output.partition("=")[::2]) for output in outputs]
    for name, path in wanted:
        if name not in FORMATS or not path:
            raise Trouble(
                f"{name}={path}: expected FORMAT=PATH", where="--output", remedy=f"One of {', '.join(FORMATS)}"
            )
    chosen = format_ or suited(os.environ)
    if format_ is None and chosen == "github" and os.environ.get("GITHUB_STEP_SUMMARY"):
        append(Path(os.environ["GITHUB_STEP_SUMMARY"]), rendered("markdown", examination, rules, severity))
    for name, path in wanted:
        write(
            Path(path),
            text(examination, rules, verbose) if name == "text" else rendered(name, examination, rules, severity),
        )
    if chosen == "text":
        from envdoctor.render.text import render

        render(examination, stdout(), rules, verbose=verbose)
    else:
        click.echo(rendered(chosen, examination, rules, severity), nl=False)


def text(examination: Examination, rules: Sequence[Rule], verbose: bool) -> str:
    """The text report without colours, 100 columns wide."""
    from io import StringIO

    from rich.console import Console

    from envdoctor.render.text import render

    out = StringIO()
    render(examination, Console(file=out, width=100, highlight=False), rules, verbose=verbose)
    return out.getvalue()


def exit_code(examination: Examination, fail_on: str) -> int:
    """0 healthy; 1 findings at or above ``fail_on``; 3 when rules crashed and nothing worse was found."""
    severity = _options.FAIL_ON[fail_on]
    if severity is not None and examination.diagnosis.at_least(severity):
        return 1
    return 3 if examination.diagnosis.outcome == "unknown" else 0
