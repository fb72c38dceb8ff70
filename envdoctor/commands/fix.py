"""``envdoctor fix``: repair an environment in one atomic step, or create it."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from typing import Literal

import click

from envdoctor import creation, doctor, repair
from envdoctor.change.recover import recover
from envdoctor.change.strategy import preview
from envdoctor.change.values import Applied, Change, Strategy
from envdoctor.commands import _options
from envdoctor.commands._output import counted, paste, print_json, quoted, say, stderr
from envdoctor.commands._progress import interrupted, steps
from envdoctor.commands.check import exit_code
from envdoctor.environment import Environment, locate
from envdoctor.errors import Trouble
from envdoctor.examination import Examination, Question
from envdoctor.rule import Severity


@click.command("fix")
@_options.environment
@_options.target
@click.option("--dry-run", is_flag=True, help="Say what would be changed and how; change nothing.")
@_options.yes
@click.option("--strict", is_flag=True, help="Remove packages that are not in the lock.")
@click.option("--force", is_flag=True, help="Change it although processes are running from it.")
@click.option("--installer", type=click.Choice(("uv", "pip")), default="uv", show_default=True)
@click.option("--python", metavar="PYTHON", help="Interpreter for an environment that does not exist yet.")
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text", show_default=True)
@_options.selection
@_options.fail_on
def command(
    env: Path | None,
    target_name: str,
    stack: str | None,
    dry_run: bool,
    yes: bool,
    strict: bool,
    force: bool,
    installer: Literal["uv", "pip"],
    python: str | None,
    format_: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str,
) -> int:
    """Repair an environment in one step that can be undone; create it if it does not exist.

    The new environment is built beside the old one, checked by the same rules, and exchanged for it in one system
    call: at every instant it is the old one or the new one. `envdoctor undo` exchanges them back.

    \b
    Examples:
      envdoctor fix --dry-run
      envdoctor fix --target h100 --yes
      envdoctor fix --target cpu --env ./env

    Exit codes: 0 healthy now, 1 something remains that cannot be fixed here, 3 nothing was changed.
    """
    environment = locate(env)
    question = Question(target=target_name, stack=stack, select=select, ignore=ignore)
    ways = repair.Ways(installer=installer, strict=strict, force=force)
    result, examination = fix(environment, question, ways, dry_run=dry_run, yes=yes, python=python)
    if not dry_run:
        _show_remaining(examination)
    if format_ == "json":
        print_json({"schema": 1, "change": result})
    return exit_code(examination, fail_on) if not dry_run else 0


def fix(
    environment: Environment,
    question: Question,
    ways: repair.Ways,
    *,
    dry_run: bool = False,
    yes: bool = False,
    python: str | None = None,
    examined: Examination | None = None,
) -> tuple[dict[str, object], Examination]:
    """Examine, show the plan, ask, change. Returns the change for the JSON border and the examination of the result."""
    console = stderr()
    started = time.monotonic()
    with steps(console) as progress:
        if environment.exists:
            progress("looking for what an interrupted run left behind")
            for left in recover(environment.path).actions:
                say(console, f"cleaned up after an interrupted run: {left}")
        progress("examining the environment")
        if environment.exists:
            before = examined or doctor.examine(environment, question)
        else:
            environment, before = creation.examine_base(environment, python, question)
    if environment.exists and before.plan.empty:
        console.print("Nothing to change: the environment holds what the lock asks for.")
        return {"changed": False, "strategy": None, "seconds": time.monotonic() - started}, before
    change = repair.change_for(environment, before, ways)
    with steps(console) as progress:
        progress("looking how it can be changed")
        strategy = preview(change)
    if strategy.kind == "refuse":  # not after a plan that somebody agreed to
        raise Trouble(strategy.reason, file=strategy.environment, remedy=strategy.remedy, exit_code=3)
    new = strategy.kind in ("create", "beside")
    _show_plan(before, change, strategy, new=new)
    plan = _plan_document(before, change, new=new)
    if dry_run:
        console.print("Nothing was changed (--dry-run).")
        return {"changed": False, "dry_run": True, "strategy": strategy.kind, **plan}, before
    if not yes and sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm("Make this change?", abort=True, err=True)
    with steps(console) as progress, interrupted(progress, "stopping: clearing away what was begun"):
        applied, after = repair.carry_out(environment, before, question, ways, progress=progress)
    seconds = time.monotonic() - started
    _show_ending(applied, seconds)
    document = {"changed": True, "strategy": applied.strategy.kind, "seconds": round(seconds, 3), **plan}
    return document, after


def _show_plan(examination: Examination, change: Change, strategy: Strategy, *, new: bool) -> None:
    console, plan, target = stderr(), examination.plan, examination.target
    if target.choice is not None:
        say(console, f"target {target.name}, stack {target.choice.stack}: {target.choice.reason}", style="dim")
    if new:
        size = sum(pin.size or 0 for pin in change.wanted) / 1e9
        download = f" ({size:.1f} GB of wheels)" if size >= 0.05 else ""
        packages = counted(len(change.wanted), "package")
        say(console, f"Create {strategy.environment} with {packages}{download}, by exact version and hash.")
    for step in () if new else plan.install:
        say(console, f"  {step.name:<24} {step.before or 'missing':>16} → {step.after.version}")
    # A new environment gets all settings of the target, one that exists those that it lacks.
    settings, others = (plan, plan.kept) if not new else (change, ())
    for name, value in settings.flags.items():
        say(console, f"  flag {name} = {value} (startup hook)")
    for name, variable in settings.variables.items():
        say(console, f"  variable {name} {'removed' if variable is None else '= ' + variable} (startup hook)")
    if others:
        kept = counted(len(others), "package")
        verb = "removed (--strict)" if change.strict else "kept (--strict removes what is not locked)"
        say(console, f"  {kept} outside the lock: {verb}", style="dim")
        if change.strict:
            say(console, f"    {', '.join(others)}", style="dim")
    if strategy.kind != "create":
        say(console, f"  how: {strategy.kind}: {strategy.reason}", style="dim")


def _show_ending(applied: Applied, seconds: float) -> None:
    """What became of it, and what to type next."""
    console, strategy = stderr(), applied.strategy
    created = strategy.kind in ("create", "beside")
    say(
        console,
        f"✓ {strategy.environment} {'created' if created else 'changed'} in {seconds:.1f} s ({strategy.kind})",
        style="green",
    )
    if created:
        activate = strategy.activate or f". {quoted(str(strategy.environment / 'bin' / 'activate'))}"
        paste(console, "  Use it: ", activate)
    if applied.previous is not None:
        paste(console, "  Undo: ", f"envdoctor undo --env {quoted(str(strategy.environment))}")


def _show_remaining(examination: Examination) -> None:
    """Findings that no change of the environment mends: why the exit code is not 0."""
    counts = Counter(found.severity for found in examination.diagnosis.findings)
    found = [counted(counts[each], each.word) for each in (Severity.ERROR, Severity.WARNING) if counts[each]]
    if found:
        console, place = stderr(), examination.facts.origin.environment or "."
        say(console, f"! {' and '.join(found)} left, which a change of the environment does not mend", style="yellow")
        paste(console, "  See: ", f"envdoctor check --target {quoted(examination.target.name)} --env {quoted(place)}")


def _plan_document(examination: Examination, change: Change, *, new: bool) -> dict[str, object]:
    plan = examination.plan
    if new:
        packages = [{"name": pin.name, "before": None, "after": pin.version} for pin in change.wanted]
    else:
        packages = [{"name": s.name, "before": s.before, "after": s.after.version} for s in plan.install]
    settings, others = (plan, plan.kept) if not new else (change, ())
    return {
        "target": examination.target.name,
        "packages": packages,
        "flags": dict(settings.flags),
        "variables": dict(settings.variables),
        "kept": list(others),
    }
