"""``envdoctor check``: examine an environment and say what is wrong."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from envdoctor import bundle, collect
from envdoctor.commands import _options
from envdoctor.environment import locate

if TYPE_CHECKING:
    from envdoctor.examination import Examination


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
    if facts_file is None:
        # Before anything heavy is imported here: the environment's own import of torch takes longest.
        collection = collect.begin(
            locate(env),
            torch=not no_torch,
            deep=deep,
            flags_table=bundle.flags_table(),
            scripts=scripts,
            torch_deadline=torch_deadline,
        )
    from envdoctor import doctor
    from envdoctor.commands._show import show
    from envdoctor.examination import Question

    question = Question(
        target=target_name,
        stack=stack,
        scripts=scripts,
        select=select,
        ignore=ignore,
        recorded=facts_file is not None,
    )
    judged = doctor.prepare(question)
    facts = collection.finish() if facts_file is None else collect.read(facts_file)
    examination = doctor.judge(facts, question, prepared=judged)
    examination = replace(examination, seconds=time.monotonic() - started)
    show(examination, judged.rules, format_, outputs, fail_on=fail_on, verbose=verbose)
    return exit_code(examination, fail_on)


def exit_code(examination: Examination, fail_on: str) -> int:
    """0 healthy; 1 findings at or above ``fail_on``; 3 when rules crashed and nothing worse was found."""
    from envdoctor.rule import FAIL_ON

    severity = FAIL_ON[fail_on]
    if severity is not None and examination.diagnosis.at_least(severity):
        return 1
    return 3 if examination.diagnosis.outcome == "unknown" else 0
