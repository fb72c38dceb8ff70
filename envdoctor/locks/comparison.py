"""What is installed against what a stack locks: which packages are older, newer, of another build, or missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from envdoctor.facts.model import Packages
from envdoctor.knowledge import versions
from envdoctor.knowledge.roles import PLUMBING
from envdoctor.locks.stack import Locked
from envdoctor.values.frozen import frozen

Relation = Literal["older", "newer", "another build", "unlike", "missing"]


@frozen
class Difference:
    """One package that is not as locked. ``installed`` is None where it is missing."""

    name: str
    installed: str | None
    locked: str
    relation: Relation

    @property
    def slower(self) -> bool:
        """May it cost speed? Not what is newer than anything timed, nor the same release built for another CUDA line,
        nor what never runs in a training step."""
        if self.relation == "another build":
            return versions.label(self.installed or "") == "cpu"
        return self.relation != "newer" and self.name not in PLUMBING


def differences(packages: Packages, pins: Sequence[Locked], cuda: str | None) -> Iterator[Difference]:
    """Each pin that is installed otherwise, or, where the list of packages is complete, not at all.

    ``cuda`` is the stack's CUDA line, "" for the CPU.
    """
    installed: dict[str, str] = {}
    for distribution in packages.distributions:
        installed.setdefault(distribution.name, distribution.version)
    for pin in pins:
        version = installed.get(pin.name)
        if version is None:
            if packages.complete:
                yield Difference(name=pin.name, installed=None, locked=pin.version, relation="missing")
        elif not as_locked(version, pin.version, cuda):
            yield Difference(
                name=pin.name, installed=version, locked=pin.version, relation=_relation(version, pin.version)
            )


def as_locked(actual: str, locked: str, cuda: str | None) -> bool:
    """Is it the locked release, built for the same line? PyTorch's own index labels what the registry does not."""
    if versions.same(actual, locked):
        return True
    label = versions.label(actual)
    if cuda is None or label is None or versions.label(locked) is not None:
        return False
    line = f"cu{cuda.replace('.', '')}" if cuda else "cpu"
    return label == line and versions.same(versions.public(actual), locked)


def _relation(actual: str, locked: str) -> Relation:
    if versions.same(versions.public(actual), versions.public(locked)):
        return "another build"
    ours, theirs = versions.parse(actual), versions.parse(locked)
    if ours is None or theirs is None:
        return "unlike"
    return "older" if ours < theirs else "newer"
