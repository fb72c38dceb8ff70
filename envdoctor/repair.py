"""Examination -> change: carry out a plan atomically, verified on the clone by the same rules before the swap."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

from envdoctor import doctor, process, scrub
from envdoctor.change.apply import apply, create
from envdoctor.change.values import Applied, Change
from envdoctor.diagnose import Diagnosis
from envdoctor.environment import Environment, locate
from envdoctor.errors import Trouble
from envdoctor.examination import Examination, Question
from envdoctor.frozen import dataclass
from envdoctor.rule import Severity
from envdoctor.target import Target

WARM_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """How a change is to be made; the user's options."""

    installer: Literal["uv", "pip"] = "uv"
    strict: bool = False
    force: bool = False


def change_for(environment: Environment, examination: Examination, ways: Ways) -> Change:
    """The change that carries out the examination's plan.

    A hook replaces the one before it, so it always carries all flags of the target, not only those found wrong.
    """
    target, plan = examination.target, examination.plan
    hooked = bool(plan.flags or plan.variables) or not environment.exists
    return Change(
        environment=environment.path,
        python=None if environment.python is None else str(environment.python),
        wanted=target.choice.pins if target.choice else (),
        install=tuple(step.after for step in plan.install) if environment.exists else (),
        flags={**target.flags, **plan.flags} if hooked else {},
        variables={**target.variables, **plan.variables} if hooked else {},
        strict=ways.strict,
        installer=ways.installer,
        wheels=wheels_of(target),
        force=ways.force,
    )


def wheels_of(target: Target) -> Path | None:
    """The folder of wheels beside the lock, when somebody has filled it."""
    if target.path is None:
        return None
    folder = target.path.parent.parent / "wheels"
    return folder if folder.is_dir() else None


def carry_out(
    environment: Environment,
    examination: Examination,
    question: Question,
    ways: Ways,
    *,
    progress: Callable[[str], None],
) -> tuple[Applied, Examination]:
    """Make the change and return it with the examination of the result.

    Raises `Trouble` (exit code 3) when the clone is not healthier: nothing has been swapped then.
    """
    change = change_for(environment, examination, ways)
    last: list[tuple[Path, Examination]] = []

    def verify(clone: Path) -> str | None:
        if not environment.exists or any(pin.name == "torch" for pin in change.install):
            progress("importing torch in the new environment")
            warm(locate(clone))  # else its bytecode is the old state's, by hard link
        progress("checking the new environment by the same rules")
        after = doctor.examine(locate(clone), replace(question, deep=False))
        last.append((clone, after))
        return not_healthier(examination.diagnosis if environment.exists else None, after.diagnosis)

    make = apply if environment.exists else create
    applied = make(change, verify=verify, progress=progress)
    if not last:
        raise Trouble("the change was made without being verified", file=environment.path, exit_code=3)
    return applied, _in_place(*last[-1], applied.strategy.environment)


def _in_place(clone: Path, examined: Examination, environment: Path) -> Examination:
    """The clone's examination, told of the environment: whoever reads it finds nothing at the clone's path."""
    old, new = scrub.text(str(clone)), scrub.text(str(environment))
    return replace(
        examined, facts=scrub.moved(examined.facts, old, new), diagnosis=scrub.moved(examined.diagnosis, old, new)
    )


def warm(clone: Environment) -> None:
    """Import torch once in the clone, so that its bytecode is there: without, every start compiles for seconds.

    Installers that do not compile, in shells that forbid writing bytecode, would leave it to each run. How the import
    ends does not matter here: the examination that follows looks at the same import with all its care.
    """
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    process.run([str(clone.python), "-c", "import torch"], deadline=WARM_SECONDS, env=variables)


def not_healthier(before: Diagnosis | None, after: Diagnosis) -> str | None:
    """Why ``after`` is no improvement on ``before`` (None: a new environment), or None when it is one."""
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
