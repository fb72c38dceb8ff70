"""Checkup -> proposal: the change that would carry out its plan, and how it would be made; nothing is touched yet."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Literal

from envdoctor.change.strategy import preview
from envdoctor.change.values import Change, Strategy
from envdoctor.errors import Trouble
from envdoctor.facts import wire
from envdoctor.facts.environment import Environment
from envdoctor.knowledge.with_extensions import PublishedExtension
from envdoctor.locks.target import Target
from envdoctor.rules.checkup import Checkup
from envdoctor.values.frozen import frozen


@frozen
class ChangeOptions:
    """How a change is to be made; the user's options."""

    installer: Literal["uv", "pip"] = "uv"
    strict: bool = False
    force: bool = False
    keep_newer: bool = False  # leave what is newer than the lock
    extensions: tuple[PublishedExtension, ...] = ()  # to be added, of the releases that fit

    def applied_to(self, checkup: Checkup) -> Checkup:
        """The checkup with its plan as these options leave it."""
        return replace(checkup, plan=checkup.plan.keeping_newer()) if self.keep_newer else checkup


@frozen
class Proposal:
    """A change that somebody may agree to: of what, why (the checkup), what, and how."""

    environment: Environment
    checkup: Checkup  # of the environment, or of the interpreter that a new one is made from
    change: Change
    strategy: Strategy

    @property
    def new(self) -> bool:
        return self.strategy.kind in ("create", "beside")

    @property
    def name(self) -> str:
        """32 hex digits, the same for the same change of the same environment: by this somebody agrees to it."""
        before = {step.name: step.before for step in self.checkup.plan.install}
        said = {"change": wire.to_json(self.change), "before": before, "strategy": self.strategy.kind}
        return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()[:32]


def propose(environment: Environment, checkup: Checkup, how: ChangeOptions) -> Proposal:
    """The change for a checkup. Raises `Trouble` (exit code 3) where it would be refused: nobody is asked in vain."""
    change = change_for(environment, checkup, how)
    strategy = preview(change)
    if strategy.kind == "refuse":
        raise Trouble(strategy.reason, file=strategy.environment, remedy=strategy.remedy, exit_code=3)
    return Proposal(environment=environment, checkup=checkup, change=change, strategy=strategy)


def require_comparison(environment: Environment, checkup: Checkup) -> None:
    """Nothing is changed, and nothing called right, that was not seen and compared. Raises `Trouble` (exit code 3)."""
    missing = [one for one in checkup.diagnosis.unseen if one.blind]
    if environment.exists and missing:
        raise Trouble(
            "; ".join(f"its {one.section} could not be seen: {one.reason}" for one in missing),
            file=environment.path,
            remedy="See what ails it (envdoctor check), or make another one: envdoctor fix --env NEW",
            exit_code=3,
        )
    target = checkup.target
    if target.choice is not None or (target.is_cpu and not target.stacks):
        return
    if target.asked or checkup.plan.empty:
        raise Trouble(
            f"nothing was compared with target {target.name}: {target.no_choice or 'it has no stack'}",
            file=environment.path,
            remedy="Use a Python that a stack of the target is locked for, or lock one for this Python: envdoctor lock",
            exit_code=3,
        )


def change_for(environment: Environment, checkup: Checkup, how: ChangeOptions) -> Change:
    """The change that carries out the checkup's plan.

    A hook replaces the one before it, so it always carries all flags of the target, not only those found wrong.
    """
    target, plan = checkup.target, checkup.plan
    hooked = bool(plan.flags or plan.variables) or not environment.exists
    return Change(
        environment=environment.path,
        python=None if environment.python is None else str(environment.python),
        wanted=(*(target.choice.pins if target.choice else ()), *plan.added),
        install=tuple(step.after for step in plan.install) if environment.exists else (),
        flags={**target.flags, **plan.flags} if hooked else {},
        variables={**target.variables, **plan.variables} if hooked else {},
        strict=how.strict,
        installer=how.installer,
        wheels=wheels_of(target),
        force=how.force,
        imports=tuple(one.module for one in how.extensions),
    )


def wheels_of(target: Target) -> Path | None:
    """The folder of wheels beside the lock, when somebody has filled it."""
    if target.path is None:
        return None
    folder = target.path.parent.parent / "wheels"
    return folder if folder.is_dir() else None
