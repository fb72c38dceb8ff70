"""Which Python a new environment is made from: one that the target's stack is locked for."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from envdoctor import doctor
from envdoctor.environment import Environment, locate
from envdoctor.errors import Trouble
from envdoctor.examination import Examination, Question

NEWEST_FIRST = ("3.14", "3.13", "3.12", "3.11", "3.10")


def examine_base(environment: Environment, python: str | None, question: Question) -> tuple[Environment, Examination]:
    """The environment to create, with its base interpreter, and that interpreter's examination.

    Without ``python``: our own, or else the newest one on PATH that the stack is for. Raises `Trouble` when none is.
    """
    first: Examination | None = None
    for candidate in _candidates(python):
        try:
            base = locate(candidate)
        except Trouble:
            if python is not None:
                raise
            continue  # a shim on PATH without an interpreter behind it (pyenv)
        examination = doctor.examine(base, replace(question, torch=False, select=("nothing",), ignore=()))
        if examination.target.choice is not None:
            return replace(environment, python=base.python), examination
        first = first or examination
    if first is None:
        raise Trouble(f"there is no interpreter {python!r}", where="--python", remedy="Give the path of a python.")
    raise Trouble(
        first.target.no_choice or "no stack of the target is for this Python",
        where=f"--target {first.target.name}",
        remedy=f"Name an interpreter that a stack is locked for, e.g. --python python3.11 (tried: {_tried(python)})",
        exit_code=3,
    )


def _candidates(python: str | None) -> Iterator[Path]:
    if python is not None:
        found = shutil.which(python) or (python if Path(python).is_file() else None)
        if found is not None:
            yield Path(found)
        return
    yield Path(getattr(sys, "_base_executable", sys.executable))
    for version in NEWEST_FIRST:
        found = shutil.which(f"python{version}")
        if found is not None:
            yield Path(found)


def _tried(python: str | None) -> str:
    return python or ", ".join(dict.fromkeys(str(path) for path in _candidates(None)))
