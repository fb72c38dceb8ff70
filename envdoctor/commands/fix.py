"""``envdoctor fix``: repair an environment in one atomic step, or create it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from envdoctor import doctor
from envdoctor.commands import _options
from envdoctor.commands._environment import environment_of
from envdoctor.rules.options import CheckOptions

if TYPE_CHECKING:
    from envdoctor.change.proposal import ChangeOptions
    from envdoctor.change.values import Applied
    from envdoctor.doctor import Repaired
    from envdoctor.facts.environment import Environment
    from envdoctor.knowledge.with_extensions import PublishedExtension
    from envdoctor.rules.checkup import Checkup


@click.command("fix")
@_options.environment
@_options.target
@click.option("--dry-run", "-n", is_flag=True, help="Say what would be changed and how; change nothing.")
@_options.yes
@click.option("--keep-newer", is_flag=True, help="Leave packages that are newer than the lock as they are.")
@click.option(
    "--with",
    "extensions",
    multiple=True,
    metavar="NAMES",
    help="Add extensions of the releases that fit this torch: flash-attn,liger-kernel ... Repeatable.",
)
@click.option("--exact", is_flag=True, help="Remove packages that are not in the lock.")
@_options.force("processes are running from the environment")
@click.option("--plan", metavar="NAME", help="Only if the plan is still this one (--dry-run --format json names it).")
@click.option("--installer", type=click.Choice(("uv", "pip")), default="uv", show_default=True, help="What installs.")
@_options.python
@_options.text_or_json
@_options.selection
@_options.fail_on
def command(
    env: Path | None,
    target_name: str,
    stack: str | None,
    dry_run: bool,
    yes: bool,
    keep_newer: bool,
    extensions: tuple[str, ...],
    exact: bool,
    force: bool,
    plan: str | None,
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
      envdoctor fix --keep-newer
      envdoctor fix --with liger-kernel,bitsandbytes     # never another torch
      envdoctor fix --target cpu --env ./env

    Exit codes: 0 healthy now, 1 something remains that cannot be fixed here, 3 nothing was changed.
    """
    wanted = _find_extensions(extensions)
    extras = tuple(one.name for one in wanted)
    options = CheckOptions(target=target_name, stack=stack, extras=extras, select=select, ignore=ignore)
    environment = environment_of(env)
    # What follows loads beside it
    with doctor.begin_examination(environment, options) or contextlib.nullcontext() as examination:
        from envdoctor.change.proposal import ChangeOptions
        from envdoctor.commands._dialogue import TerminalDialogue

        how = ChangeOptions(installer=installer, strict=exact, force=force, keep_newer=keep_newer, extensions=wanted)
        with TerminalDialogue(yes=yes, dry_run=dry_run, plan=plan).shown() as dialogue:
            repaired = doctor.fix(
                environment,
                options,
                how,
                dialogue,
                python=python,
                examination=examination,
                agreed=yes and not dry_run and plan is None,
                extend=_extend(how),
            )
    show_repaired(repaired)
    if not dry_run:
        _show_remaining(repaired.checkup)
    if format_ == "json":
        from envdoctor.commands._output import print_json
        from envdoctor.render.change import document

        print_json(
            {"schema": 1, "change": document(repaired.proposal, repaired.applied, repaired.seconds, dry_run=dry_run)}
        )
    from envdoctor.commands.check import exit_code

    return exit_code(repaired.checkup, fail_on) if not dry_run else 0


def _find_extensions(words: tuple[str, ...]) -> tuple[PublishedExtension, ...]:
    """The extensions asked for. Their table is read for them alone: the examination begins after this."""
    if not words:
        return ()
    from envdoctor.knowledge.with_extensions import find_extensions

    return find_extensions(words)


def _extend(how: ChangeOptions) -> Callable[[Environment, Checkup], Checkup] | None:
    """What adds extensions to a checkup's plan; None for none. The sources that it asks are loaded for it alone."""
    if not how.extensions:
        return None
    from envdoctor.commands._extensions import plan_with

    return plan_with(how.extensions)


def show_repaired(repaired: Repaired) -> None:
    """What became of it, and what to type next."""
    from envdoctor.commands._output import say, stderr

    if repaired.proposal is None:
        say(stderr(), f"Nothing to change: {_agreement(repaired.checkup)}.")
    elif repaired.applied is not None:
        _show_ending(repaired.applied, repaired.seconds)


def _agreement(checkup: Checkup) -> str:
    """What may be said when there is nothing to change: only what was compared."""
    from envdoctor.commands._output import count_noun
    from envdoctor.rules.plan import unlike

    if checkup.target.choice is None:
        return f"target {checkup.target.name} locks no packages, and its settings are in force"
    others = unlike(checkup.facts, checkup.target.choice)
    if others:
        return f"nothing that was judged asks for it, but {count_noun(len(others), 'package')} of the lock differ"
    return "the environment holds what the lock asks for"


def _show_ending(applied: Applied, seconds: float) -> None:
    """What became of it, and what to type next."""
    from envdoctor.change.tree import abbreviate
    from envdoctor.commands._output import paste, quoted, say, stderr

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
    if applied.missed:
        where = f", and only kept in {applied.previous}" if applied.previous else ""
        say(console, f"! written in the instant of the exchange{where}: {abbreviate(applied.missed)}", style="yellow")
    if applied.previous is not None:
        paste(console, "  Undo: ", f"envdoctor undo --env {quoted(str(strategy.environment))}")


def _show_remaining(checkup: Checkup) -> None:
    """Findings that no change of the environment mends: why the exit code is not 0."""
    from collections import Counter

    from envdoctor.commands._output import count_noun, paste, quoted, say, stderr
    from envdoctor.rules.finding import Severity

    counts = Counter(found.severity for found in checkup.diagnosis.findings)
    found = [count_noun(counts[each], each.word) for each in (Severity.ERROR, Severity.WARNING) if counts[each]]
    if found:
        console, place = stderr(), checkup.facts.origin.environment or "."
        say(console, f"! {' and '.join(found)} left, which a change of the environment does not mend", style="yellow")
        paste(console, "  See: ", f"envdoctor check --target {quoted(checkup.target.name)} --env {quoted(place)}")
