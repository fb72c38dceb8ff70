"""``envdoctor check``: examine an environment and say what is wrong."""

from __future__ import annotations

import time
from pathlib import Path

import click

from envdoctor import collect, doctor
from envdoctor.commands import _options
from envdoctor.doctor import Examination, Question
from envdoctor.environment import locate


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
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text", show_default=True)
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
    format_: str,
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
    show(examination, question, format_, seconds=time.monotonic() - started, verbose=verbose)
    return exit_code(examination, fail_on)


def show(examination: Examination, question: Question, format_: str, *, seconds: float, verbose: bool = False) -> None:
    """Print an examination in the format asked for."""
    from dataclasses import replace

    examination = replace(examination, seconds=seconds)
    if format_ == "json":
        from envdoctor.commands._output import print_json
        from envdoctor.render.document import document

        print_json(document(examination))
    else:
        from envdoctor.commands._output import stdout
        from envdoctor.render.text import render

        render(examination, stdout(), doctor.chosen_rules(question), verbose=verbose)


def exit_code(examination: Examination, fail_on: str) -> int:
    """0 healthy; 1 findings at or above ``fail_on``; 3 when rules crashed and nothing worse was found."""
    severity = _options.FAIL_ON[fail_on]
    if severity is not None and examination.diagnosis.at_least(severity):
        return 1
    return 3 if examination.diagnosis.outcome == "unknown" else 0
