"""A checkup whose plan adds extensions to what the lock asks for."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from envdoctor.errors import Trouble
from envdoctor.facts.environment import Environment
from envdoctor.facts.model import Packages
from envdoctor.knowledge.interpreter import interpreter_of
from envdoctor.knowledge.with_extensions import PublishedExtension
from envdoctor.locks.writing.extensions import find_wheels
from envdoctor.rules.checkup import Checkup
from envdoctor.sources import sources


def plan_with(wanted: tuple[PublishedExtension, ...]) -> Callable[[Environment, Checkup], Checkup] | None:
    """What adds these to a checkup's plan; None for none."""
    return (lambda environment, checkup: with_extensions(environment, checkup, wanted)) if wanted else None


def with_extensions(environment: Environment, checkup: Checkup, wanted: tuple[PublishedExtension, ...]) -> Checkup:
    """The checkup with the wheels to add in its plan, chosen beside what the environment holds once it is repaired.

    Extras of the lock are in its plan already; for others the user's own pip and uv sources are asked. Raises
    `Trouble` (exit code 3) where no wheel fits.
    """
    facts, plan, choice = checkup.facts, checkup.plan, checkup.target.choice
    locked = {pin.name for pin in choice.pins} if choice is not None else set()
    wanted = tuple(one for one in wanted if one.name not in locked)
    if not wanted:
        return checkup
    interpreter = interpreter_of(facts)
    if interpreter is None:
        raise Trouble("its Python could not be seen", file=environment.path, exit_code=3)
    installed = facts.packages if isinstance(facts.packages, Packages) and environment.exists else Packages()
    held = {one.name: one.version for one in installed.distributions if not one.editable and one.source is None}
    if environment.exists:
        held |= {step.name: step.after.version for step in plan.install}
    elif choice is not None:
        held |= {pin.name: pin.version for pin in choice.pins}
    found = sources.read(environment.path, variables=os.environ, folder=Path.cwd())
    pins = find_wheels(wanted, held, interpreter, found)
    return replace(checkup, plan=plan.adding(pins, installed))
