"""``envdoctor preflight``: the whole story, as a gate before an expensive job."""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path

import click
from rich.console import Console

from envdoctor import doctor
from envdoctor.change.proposal import ChangeOptions
from envdoctor.commands import _options
from envdoctor.commands._dialogue import TerminalDialogue
from envdoctor.commands._environment import environment_of
from envdoctor.commands._output import as_json, print_json, stderr, stdout, write
from envdoctor.commands._ranks import preflight_together
from envdoctor.commands._show import plain, show
from envdoctor.commands.check import exit_code as exit_code_of_check
from envdoctor.commands.fix import show_repaired
from envdoctor.commands.verify import exit_code as exit_code_of_speed
from envdoctor.doctor import Preflight, Repaired
from envdoctor.errors import Trouble
from envdoctor.ranks.launch import find_launch
from envdoctor.ranks.meeting import SECONDS
from envdoctor.render.change import document as change_document
from envdoctor.render.document import document as check_document
from envdoctor.render.formats import render_checkup
from envdoctor.render.speed import document as speed_document
from envdoctor.render.speed import render as render_speed
from envdoctor.render.speed import render_gain
from envdoctor.rules.checkup import CheckOptions, Checkup
from envdoctor.rules.finding import FAIL_ON
from envdoctor.speed.cost import Price
from envdoctor.speed.timing import TimingOptions

ALONE = "Repair it before the job starts: envdoctor fix --yes"


@click.command("preflight")
@_options.environment
@_options.target
@click.option("--fix", "fix_", is_flag=True, help="Repair what can be; create what is missing.")
@_options.yes
@_options.python
@click.option("--strict", is_flag=True, help="Fail on unstable and not-comparable too, instead of warning.")
@_options.workload
@click.option("--wait", default=SECONDS, show_default=True, metavar="SECONDS", help="For the other ranks of a job.")
@click.option("--alone", is_flag=True, help="Judge this process by itself, also in a distributed job.")
@_options.cost
@_options.verbose
@_options.fail_on
@_options.text_or_json
@_options.outputs(*_options.CHECKUP_FORMATS)
def command(
    env: Path | None,
    target_name: str,
    stack: str | None,
    fix_: bool,
    yes: bool,
    python: str | None,
    strict: bool,
    workload: str | None,
    wait: float,
    alone: bool,
    price: Price | None,
    steps_: int | None,
    verbose: bool,
    fail_on: str,
    format_: str,
    outputs: tuple[tuple[str, Path], ...],
) -> int:
    """Check, repair if allowed, train a short workload, and judge its speed: the gate before an expensive job.

    In every process of a distributed job (torchrun, accelerate launch, srun) all ranks examine, rank 0 says once
    whether they agree and how fast an all-reduce is, and all end with its exit code; --alone judges each by itself.
    After --fix the state before is timed too, in turns with this one, and the last line says what fix made of it.

    \b
    Examples:
      envdoctor preflight --fix --yes --target cpu --env ./env
      envdoctor preflight --target h100 --strict --format json
      torchrun --no-python --nproc-per-node 8 envdoctor preflight --env ./env

    Exit codes: 0 go; 1 findings that remain, or slower; 3 could not be examined, or (--strict) not judged.
    """
    options = CheckOptions(target=target_name, stack=stack)
    launch = None if alone else find_launch(os.environ)
    if launch is not None:
        if fix_:
            raise Trouble("many processes cannot repair one environment", where="--fix", remedy=ALONE)
        return preflight_together(environment_of(env), launch, options, format_=format_, seconds=wait)
    timing = TimingOptions(workload=workload, steps=steps_, price=price)

    def checked(checkup: Checkup, repaired: Repaired | None) -> None:
        if repaired is not None:
            show_repaired(repaired)
        if format_ == "text":
            show(checkup, "text", fail_on=fail_on)

    with TerminalDialogue(yes=yes, checked=checked).shown() as dialogue:
        told = doctor.preflight(
            environment_of(env), options, timing, dialogue, how=ChangeOptions() if fix_ else None, python=python
        )
    if format_ == "text":
        _show_speed(told, stdout(), verbose=verbose)
    elif format_ == "json":
        print_json(_document(told))
    for name, path in outputs:
        write(path, _format(name, told, fail_on=fail_on, verbose=verbose))
    if told.verdict is None:
        return 3 if told.checkup.diagnosis.blind else 1
    gate = exit_code_of_speed(told.verdict)
    if gate == 3 and not strict:
        stderr().print(f"warning: the speed could not be judged ({told.verdict.word}); --strict makes this a failure")
        gate = 0
    return gate or exit_code_of_check(told.checkup, fail_on)


def _document(told: Preflight) -> dict[str, object]:
    done = told.repaired
    return {
        "schema": 1,
        "check": check_document(told.checkup),
        "change": None if done is None else change_document(done.proposal, done.applied, done.seconds),
        "speed": None if told.verdict is None else speed_document(told.verdict),
        "gain": None if told.gain is None else speed_document(told.gain),
    }


def _show_speed(told: Preflight, console: Console, *, verbose: bool) -> None:
    if told.verdict is not None:
        render_speed(told.verdict, console, verbose=verbose)
    if told.gain is not None:
        render_gain(told.gain, console)


def _format(name: str, told: Preflight, *, fail_on: str, verbose: bool) -> str:
    """The answer in a format: all of it as JSON and text; what others read (SARIF, JUnit ...) holds the findings."""
    if name == "json":
        return as_json(_document(told))
    if name != "text":
        return render_checkup(name, told.checkup, FAIL_ON[fail_on])
    found = plain(told.checkup, verbose=verbose)
    text = StringIO()
    _show_speed(told, Console(file=text, width=100, highlight=False), verbose=verbose)
    return found + text.getvalue()
