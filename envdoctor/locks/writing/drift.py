"""`envdoctor lock --check`: what was released since a stack was locked, and whose measured speed that would cost."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from packaging.version import Version

from envdoctor.errors import Trouble
from envdoctor.knowledge.roles import PLUMBING
from envdoctor.locks.stack import Stack
from envdoctor.locks.target import Baseline, Target
from envdoctor.locks.writing import trim
from envdoctor.locks.writing.inputs import Inputs
from envdoctor.locks.writing.lock import digests
from envdoctor.locks.writing.resolver import resolve
from envdoctor.sources.sources import Sources


@dataclass(frozen=True, slots=True, kw_only=True)
class Newer:
    """A package with a newer release. ``held`` says that the stack's own requirements keep it back."""

    name: str
    locked: str
    newest: str
    held: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How far a stack is behind. Baselines are (target, baseline) pairs."""

    newer: tuple[Newer, ...]
    at_stake: tuple[tuple[str, Baseline], ...]  # measured with this lock: what is newer makes them derived, once locked
    stale: tuple[tuple[str, Baseline], ...]  # measured with another lock of this name: derived already
    unknown: str = ""  # why it could not be told what is held back, "" when it could


def check_stack(found: Stack, inputs: Inputs, *, sources: Sources, targets: Iterable[Target]) -> Drift:
    """Resolve the stack's requirements again and compare; changes nothing. Raises `Trouble` when nothing resolves."""
    locked = _newest((str(package.name), str(package.version)) for package in found.lock.packages)
    newest = _resolve(inputs, sources)
    newer = {
        name: Newer(name=name, locked=str(locked[name]), newest=str(version))
        for name, version in newest.items()
        if name in locked and version > locked[name]
    }
    unknown = ""
    try:
        loose = tuple(_loosen(requirement) for requirement in inputs.requirements)
        freest = _resolve(replace(inputs, requirements=loose, exclude_newer=None), sources)
    except Trouble as error:
        freest, unknown = {}, error.problem
    for name, version in freest.items():
        if name in locked and version > locked[name] and name not in newer:
            newer[name] = Newer(name=name, locked=str(locked[name]), newest=str(version), held=True)
    whole, training = digests(found, inputs.served)
    moved = any(not one.held and one.name not in PLUMBING for one in newer.values())
    at_stake = (training if moved else set()) | (whole if any(not one.held for one in newer.values()) else set())
    measured = [
        (target.name, baseline)
        for target in targets
        for baseline in target.baselines
        if baseline.stack == found.name and baseline.evidence == "measured"
    ]
    return Drift(
        newer=tuple(sorted(newer.values(), key=lambda one: (one.held, one.name))),
        at_stake=tuple((name, baseline) for name, baseline in measured if baseline.lock in at_stake),
        stale=tuple((name, baseline) for name, baseline in measured if baseline.lock not in training | whole),
        unknown=unknown,
    )


def _loosen(requirement: str) -> str:
    """At least the pinned version; a local label ("+cpu") may only be asked for exactly, so it goes."""
    return re.sub(r"(?<![=!])==([^=,;\s+]+)(\+[A-Za-z0-9.]+)?", r">=\1", requirement)


def _resolve(inputs: Inputs, sources: Sources) -> dict[str, Version]:
    packages = trim.read(resolve(inputs, sources), inputs.served)
    return _newest((package.name, package.version) for package in packages)


def _newest(versions: Iterable[tuple[str, str]]) -> dict[str, Version]:
    """The newest version of each package: a lock holds several where Pythons need different ones."""
    found: dict[str, Version] = {}
    for name, text in versions:
        version = Version(text)
        found[name] = max(version, found.get(name, version))
    return found
