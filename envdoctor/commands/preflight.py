"""``envdoctor preflight``: the whole story, as a gate before an expensive job."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from envdoctor import doctor, repair
from envdoctor.change.recover import recover
from envdoctor.commands import _options
from envdoctor.commands._output import print_json, stderr, stdout
from envdoctor.commands._progress import steps
from envdoctor.commands._show import show
from envdoctor.commands.check import exit_code as exit_code_of_check
from envdoctor.commands.fix import fix as repair_environment
from envdoctor.commands.verify import exit_code as exit_code_of_speed
from envdoctor.commands.verify import quiet
from envdoctor.environment import locate
from envdoctor.errors import Trouble
from envdoctor.examination import Question
from envdoctor.render.document import document as check_document
from envdoctor.render.speed import document as speed_document
from envdoctor.render.speed import render as render_speed
from envdoctor.rule import Severity
from envdoctor.timing import Timing, time_and_judge


@click.command("preflight")
@_options.environment
@_options.target
@click.option("--fix", "fix_", is_flag=True, help="Repair what can be; create what is missing.")
@_options.yes
@click.option("--python", metavar="PYTHON", help="Interpreter for an environment that does not exist yet.")
@click.option("--strict", is_flag=True, help="Fail on unstable and not-comparable too, instead of warning.")
@click.option("--workload", metavar="NAME", help="What to time. Default: the target's own.")
@_options.cost
@_options.fail_on
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text", show_default=True)
def command(
    env: Path | None,
    target_name: str,
    stack: str | None,
    fix_: bool,
    yes: bool,
    python: str | None,
    strict: bool,
    workload: str | None,
    price: float | None,
    steps_: int | None,
    fail_on: str,
    format_: str,
) -> int:
    """Check, repair if allowed, train a short workload, and judge its speed: the gate before an expensive job.

    \b
    Examples:
      envdoctor preflight --fix --target cpu --env ./env
      envdoctor preflight --target h100 --strict --format json

    Exit codes: 0 go; 1 findings that remain, or slower; 3 could not be examined, or (--strict) not judged.
    """
    started = time.monotonic()
    environment = locate(env)
    question = Question(target=target_name, stack=stack)
    console = stderr()
    changed: dict[str, object] | None = None
    if environment.exists:
        with steps(console) as progress:
            for left in recover(environment.path).actions:
                console.print(f"cleaned up after an interrupted run: {left}", markup=False)
            progress("examining the environment")
            examination = doctor.examine(environment, question)
        if fix_ and not examination.plan.empty:
            changed, examination = repair_environment(
                environment, question, repair.Ways(), yes=yes, examined=examination
            )
    elif fix_:
        changed, examination = repair_environment(environment, question, repair.Ways(), yes=yes, python=python)
        environment = locate(environment.path)
    else:
        remedy = "Create it: add --fix"
        raise Trouble("there is no environment", file=environment.path, remedy=remedy, exit_code=3)
    examination = replace(examination, seconds=time.monotonic() - started)
    prepared = doctor.prepare(question)
    if format_ == "text":
        show(examination, prepared.rules, "text", fail_on=fail_on)
    result: dict[str, Any] = {"schema": 1, "check": check_document(examination), "change": changed, "speed": None}
    # An environment that cannot train is not timed: its errors are the answer.
    if any(f.severity is Severity.ERROR and f.who == "you" for f in examination.diagnosis.findings):
        if format_ == "json":
            print_json(result)
        return 1
    with steps(console) as progress:
        timing = Timing(workload=workload, steps=steps_, price=price)
        verdict = time_and_judge(
            environment, examination.target, timing, facts=examination.facts, progress=progress, on_line=quiet
        )
    if format_ == "json":
        print_json(result | {"speed": speed_document(verdict)})
    else:
        render_speed(verdict, stdout())
    gate = exit_code_of_speed(verdict)
    if gate == 3 and not strict:
        console.print(f"warning: the speed could not be judged ({verdict.word}); --strict makes this a failure")
        gate = 0
    return gate or exit_code_of_check(examination, fail_on)
