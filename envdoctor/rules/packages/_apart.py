"""Packages that are not as the stack locks them, said together in one finding."""

from collections.abc import Sequence
from typing import TypeAlias

from envdoctor.knowledge.questions import PLUMBING, TRAINING, requirements
from envdoctor.locks.comparison import Difference, differences
from envdoctor.rules.finding import PinnedRemedy
from envdoctor.rules.hardware import other_framework
from envdoctor.rules.rule import Facts, Pin, Row, Skip, Target, known, need, remedies

Differences: TypeAlias = list[Difference]


def from_lock(facts: Facts, target: Target) -> Differences:
    packages = need(facts.packages)
    choice = need(target.choice, target.no_choice or "no stack was chosen for this machine")
    return list(differences(packages, choice.pins, choice.cuda))


def absent(facts: Facts, target: Target) -> Differences:
    apart = from_lock(facts, target)
    if not need(facts.packages).complete:
        raise Skip("the list of packages is not complete")
    if not target.asked and (other := other_framework(facts)) is not None:
        raise Skip(f"this environment trains with {other}")
    return [each for each in apart if each.relation == "missing"]


def installed_otherwise(facts: Facts, target: Target) -> Differences:
    """torch first, then what a training step runs."""
    found = [each for each in from_lock(facts, target) if each.relation != "missing"]
    return sorted(found, key=lambda each: (each.name != "torch", each.name not in TRAINING, each.name))


def is_plumbing(each: Difference) -> bool:
    """Does it never run in a training step?"""
    return each.name in PLUMBING


def rows(found: Differences) -> tuple[Row, ...]:
    return tuple(Row(subject=one.name, actual=one.installed or "not installed", expected=one.locked) for one in found)


def to_lock(target: Target, found: Differences, text: str, by_hand: str = "") -> PinnedRemedy:
    pins = tuple(Pin(name=each.name, version=each.locked) for each in found)
    return PinnedRemedy(remedy=remedies.repair(target, text, by_hand), pins=pins)


def listing(names: Sequence[str], most: int) -> str:
    """The first of them, and how many more there are; the rows hold all."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def who_needs(facts: Facts, target: Target, absent: Differences) -> dict[str, str]:
    """Which of the absent an installed package of the training, or of the stack, requires, and which that is."""
    interpreter, names = known(facts.interpreter), {each.name for each in absent}
    markers = interpreter.markers if interpreter else {}
    found: dict[str, str] = {}
    for distribution in need(facts.packages).distributions if names else ():
        if distribution.name not in TRAINING and not target.pin(distribution.name):
            continue
        for wanted in filter(None, map(requirements.read, distribution.requires)):
            if wanted.name in names and requirements.holds(wanted.marker, markers) is True:
                found.setdefault(wanted.name, distribution.name)
    return found
