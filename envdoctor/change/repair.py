"""Proposal -> change: carried out atomically, and verified on the clone by the same rules before the swap."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from envdoctor.change.apply import apply, create
from envdoctor.change.proposal import Proposal
from envdoctor.change.values import Applied, Change, Strategy
from envdoctor.errors import Trouble
from envdoctor.facts import scrub
from envdoctor.facts.environment import Environment, locate
from envdoctor.rules.checkup import Checkup
from envdoctor.rules.diagnose import Diagnosis
from envdoctor.rules.finding import Severity
from envdoctor.system import process

IMPORT_SECONDS = 120.0


class Examine(Protocol):
    """Collects the facts of an environment and judges them."""

    def __call__(self, environment: Environment, *, compiling: bool) -> Checkup: ...


def carry_out(
    proposal: Proposal,
    examine: Examine,
    *,
    progress: Callable[[str], None],
    settle: Callable[[Change, Strategy], Proposal] | None = None,
) -> tuple[Applied, Checkup]:
    """Make the change and return it with the checkup of the result, which ``examine`` makes of the clone.

    Where torch is new, ``examine`` is asked to leave its bytecode there: what the clone has is the old state's, by hard
    link, and installers that do not compile would leave seconds of it to each start.
    ``settle`` is asked before anything but packages lies in the clone: what was begun becomes what it answers.
    Raises `Trouble` (exit code 3) when the clone is not healthier: nothing has been swapped then.
    """
    environment = proposal.environment
    last: list[tuple[Path, Checkup]] = []

    def confirm(begun: Change, strategy: Strategy) -> Change:
        nonlocal proposal
        if settle is not None:
            proposal = settle(begun, strategy)
        return proposal.change

    def verify(clone: Path) -> str | None:
        change = proposal.change
        for module in change.imports:
            progress(f"importing {module} in the new environment")
            if (why := _not_importable(module, locate(clone))) is not None:
                return why
        progress("checking the new environment by the same rules")
        new = not environment.exists or any(pin.name == "torch" for pin in change.install)
        after = examine(locate(clone), compiling=new)
        last.append((clone, after))
        return not_healthier(proposal.checkup.diagnosis if environment.exists else None, after.diagnosis)

    if environment.exists:
        applied = apply(proposal.change, verify=verify, progress=progress, confirm=confirm if settle else None)
    else:
        applied = create(proposal.change, verify=verify, progress=progress)
    if not last:
        raise Trouble("the change was made without being verified", file=environment.path, exit_code=3)
    return applied, _in_place(*last[-1], applied.strategy.environment)


def _in_place(clone: Path, examined: Checkup, environment: Path) -> Checkup:
    """The clone's checkup, told of the environment: whoever reads it finds nothing at the clone's path."""
    old, new = scrub.text(str(clone)), scrub.text(str(environment))
    return replace(
        examined,
        facts=scrub.rename_path(examined.facts, old, new),
        diagnosis=scrub.rename_path(examined.diagnosis, old, new),
    )


def _not_importable(module: str, clone: Environment) -> str | None:
    """Why an extension that was asked for cannot be imported there; None when it can."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    outcome = process.run([str(clone.python), "-c", f"import {module}"], deadline=IMPORT_SECONDS, env=variables)
    if outcome.ok:
        return None
    said = [line for line in outcome.err.strip().splitlines() if line.strip()]
    return f"{module} cannot be imported there: {said[-1].strip() if said else outcome.ending}"


def not_healthier(before: Diagnosis | None, after: Diagnosis) -> str | None:
    """Why ``after`` is no improvement on ``before`` (None: a new environment), or None when it is one."""
    if after.blind:
        missing = next(one for one in after.unseen if one.blind)
        return f"its {missing.section} could not be seen: {missing.reason}"
    lost = _torch_unseen(after)
    if lost and before is not None and not _torch_unseen(before):
        return f"torch could be seen before, and cannot be now: {lost}"
    if after.crashed:
        return f"{after.crashed[0].rule} failed to judge it: {after.crashed[0].error}"
    unrepaired = [f for f in after.at_least(Severity.WARNING) if f.repair]
    if unrepaired:
        return f"{unrepaired[0].rule} still finds {unrepaired[0].subject}: {unrepaired[0].message}"
    known = {f.identity for f in before.at_least(Severity.ERROR)} if before is not None else set()
    fresh = [f for f in after.at_least(Severity.ERROR) if f.who == "you" and f.identity not in known]
    if fresh:
        return f"{fresh[0].rule} newly finds {fresh[0].subject}: {fresh[0].message}"
    return None


def _torch_unseen(diagnosis: Diagnosis) -> str:
    """Why torch could not be seen, "" when it was or nobody asked."""
    return next((one.reason for one in diagnosis.unseen if one.section == "torch"), "")
