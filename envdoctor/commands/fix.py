"""``envdoctor fix``: repair an environment in one atomic step, or create it."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Literal

import click

from envdoctor import creation, doctor, repair
from envdoctor.change.recover import recover
from envdoctor.change.strategy import preview
from envdoctor.commands import _options
from envdoctor.commands._output import print_json, stderr
from envdoctor.commands._progress import steps
from envdoctor.commands.check import exit_code
from envdoctor.environment import Environment, locate
from envdoctor.examination import Examination, Question


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
                console.print(f"cleaned up after an interrupted run: {left}")
        progress("examining the environment")
        if environment.exists:
            before = examined or doctor.examine(environment, question)
        else:
            environment, before = creation.examine_base(environment, python, question)
    if environment.exists and before.plan.empty:
        console.print("Nothing to change: the environment holds what the lock asks for.")
        return {"changed": False, "strategy": None, "seconds": time.monotonic() - started}, before
    _show_plan(environment, before, ways)
    if dry_run:
        return {"changed": False, "dry_run": True, **_plan_document(before)}, before
    if not yes and sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm("Make this change?", abort=True, err=True)
    with steps(console) as progress:
        applied, after = repair.carry_out(environment, before, question, ways, progress=progress)
    seconds = time.monotonic() - started
    verb = "changed" if environment.exists else "created"
    console.print(f"✓ {environment.path} {verb} in {seconds:.1f} s ({applied.strategy.kind})", style="green")
    if applied.strategy.activate:
        console.print(f"  Use it: {applied.strategy.activate}", markup=False)
    if applied.previous is not None:
        console.print(f"  Undo: envdoctor undo --env {environment.path}", style="dim")
    document = {
        "changed": True,
        "strategy": applied.strategy.kind,
        "seconds": round(seconds, 3),
        **_plan_document(before),
    }
    return document, after


def _show_plan(environment: Environment, examination: Examination, ways: repair.Ways) -> None:
    console, plan, target = stderr(), examination.plan, examination.target
    if target.choice is not None:
        console.print(f"target {target.name}, stack {target.choice.stack}: {target.choice.reason}", style="dim")
    if not environment.exists:
        pins = target.choice.pins if target.choice else ()
        size = sum(pin.size or 0 for pin in pins) / 1e9
        download = f" ({size:.1f} GB of wheels)" if size >= 0.05 else ""
        console.print(f"Create {environment.path} with {len(pins)} packages{download}, by exact version and hash.")
        return
    for step in plan.install:
        console.print(f"  {step.name:<24} {step.before or 'missing':>16} → {step.after.version}")
    for name, value in plan.flags.items():
        console.print(f"  flag {name} = {value} (startup hook)")
    for name, variable in plan.variables.items():
        console.print(f"  variable {name} {'removed' if variable is None else '= ' + variable} (startup hook)")
    if plan.kept:
        verb = "removed (--strict)" if ways.strict else "kept as they are (--strict removes them)"
        console.print(f"  {len(plan.kept)} packages outside the lock are {verb}", style="dim")
        if ways.strict:
            console.print(f"    {', '.join(plan.kept)}", style="dim", markup=False)
    strategy = preview(repair.change_for(environment, examination, ways))
    console.print(f"  how: {strategy.kind}: {strategy.reason}", style="dim", markup=False)


def _plan_document(examination: Examination) -> dict[str, object]:
    plan = examination.plan
    return {
        "target": examination.target.name,
        "packages": [{"name": s.name, "before": s.before, "after": s.after.version} for s in plan.install],
        "flags": dict(plan.flags),
        "variables": dict(plan.variables),
        "kept": list(plan.kept),
    }
