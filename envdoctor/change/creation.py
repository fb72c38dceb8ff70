"""Which Pythons a new environment could be made from."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.errors import Trouble
from envdoctor.facts.environment import Environment, locate

if TYPE_CHECKING:
    from envdoctor.rules.checkup import Case

NEWEST_FIRST = ("3.14", "3.13", "3.12", "3.11", "3.10")


def candidates(python: str | None) -> Iterator[Path]:
    """The interpreter ``python`` (a version, a name on PATH or a path; none where there is no such), or else our own
    and the newest ones on PATH."""
    if python is not None:
        version = f"python{python}" if re.fullmatch(r"3\.\d+", python) else python
        found = shutil.which(version) or (python if Path(python).is_file() else None)
        if found is not None:
            yield Path(found)
        return
    yield Path(getattr(sys, "_base_executable", sys.executable))
    for version in NEWEST_FIRST:
        found = shutil.which(f"python{version}")
        if found is not None:
            yield Path(found)


def base_for(
    environment: Environment, case_of: Callable[[Environment], Case], python: str | None
) -> tuple[Environment, Case]:
    """The environment to create with its base interpreter (without ``python`` our own, or else the newest one on PATH
    that the stack is for), and what was chosen for it. Raises `Trouble` when there is none.

    ``case_of`` chooses the target and stack of an interpreter.
    """
    first: Case | None = None
    for candidate in candidates(python):
        try:
            base = locate(candidate)
        except Trouble:
            if python is not None:
                raise
            continue  # a shim on PATH without an interpreter behind it (pyenv)
        found = case_of(base)
        if found.target.choice is not None:
            return replace(environment, python=base.python), found
        first = first or found
    if first is None:
        raise Trouble(
            f"there is no interpreter {python!r}",
            where="--python",
            remedy="Give the path of one, or get one: uv python install 3.12",
        )
    tried = python or ", ".join(dict.fromkeys(str(path) for path in candidates(None)))
    raise Trouble(
        first.target.no_choice or "no stack of the target is for this Python",
        where=f"--target {first.target.name}",
        remedy=f"Name an interpreter that a stack is locked for, e.g. --python python3.11 (tried: {tried})",
        exit_code=3,
    )
