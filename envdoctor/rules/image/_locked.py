"""Where the versions of a file are not those of a stack's lock."""

from __future__ import annotations

from typing import NamedTuple

from envdoctor.knowledge.questions import TRAINING
from envdoctor.locks.comparison import differences
from envdoctor.locks.target import StackChoice
from envdoctor.rules.image._contents import Contents, as_facts
from envdoctor.rules.rule import Facts, Target, known


class LineOfTheLock(NamedTuple):
    name: str
    here: str
    locked: str
    newer: bool


def differences_by_line(
    facts: Facts, target: Target, held: Contents, choice: StackChoice
) -> list[tuple[int, list[LineOfTheLock]]]:
    """Line -> what of it differs, among the packages that decide how training goes."""
    packages = known(as_facts(facts, target, held).packages)
    lines: dict[int, list[LineOfTheLock]] = {}
    for each in differences(packages, choice.pins, choice.cuda) if packages is not None else ():
        wanted = held.pins.get(each.name)
        if wanted is not None and each.name in TRAINING and each.relation != "another build":
            row = LineOfTheLock(each.name, each.installed or "", each.locked, each.relation == "newer")
            lines.setdefault(wanted.line, []).append(row)
    return sorted(lines.items())
