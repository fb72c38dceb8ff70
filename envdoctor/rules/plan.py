"""Diagnosis + target -> plan: which repairs one atomic change can make, and what must be left to whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from envdoctor.facts.model import Facts, Packages
from envdoctor.knowledge import versions
from envdoctor.locks.comparison import differences
from envdoctor.locks.stack import Locked, by_name
from envdoctor.locks.target import Choice, Target
from envdoctor.rules.diagnose import Diagnosis
from envdoctor.rules.finding import Finding, Pin, SetFlag, SetVariable, Severity
from envdoctor.values.frozen import frozen


@frozen
class Step:
    """One package: from what is installed (None: missing) to what is locked."""

    name: str
    before: str | None
    after: Locked

    @property
    def downgrade(self) -> bool:
        """Is what is installed newer than the lock?"""
        ours, theirs = versions.parse(self.before or ""), versions.parse(self.after.version)
        return ours is not None and theirs is not None and ours > theirs and not self.other_build

    @property
    def other_build(self) -> bool:
        """Is it the same release, built for another line?"""
        return versions.same(versions.public(self.before or ""), versions.public(self.after.version))


@frozen
class Plan:
    """What a change will do; ``install`` holds only what differs from the lock or is damaged."""

    install: tuple[Step, ...] = ()
    flags: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str | None] = field(default_factory=dict)
    added: tuple[Locked, ...] = ()  # asked for beside the lock: extensions, and what they need
    kept: tuple[str, ...] = ()  # installed, not in the lock: carried over as they are
    remaining: tuple[Finding, ...] = ()  # errors and warnings that no change of ours repairs
    reasons: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        return not (self.install or self.flags or self.variables)

    def adding(self, pins: Sequence[Locked], installed: Packages) -> Plan:
        """The plan with these packages beside those of the lock."""
        steps = tuple(Step(name=pin.name, before=installed.version(pin.name), after=pin) for pin in pins)
        return replace(self, install=(*self.install, *steps), added=(*self.added, *pins))

    def keeping_newer(self) -> Plan:
        """The plan without its downgrades: what is newer than the lock stays as it is."""
        return replace(self, install=tuple(step for step in self.install if not step.downgrade))


def unlike(facts: Facts, choice: Choice) -> tuple[str, ...]:
    """Names of the pins that are not installed as locked: the comparison itself, whichever rules were asked."""
    if not isinstance(facts.packages, Packages):
        return tuple(pin.name for pin in choice.pins)
    return tuple(each.name for each in differences(facts.packages, choice.pins, choice.cuda))


def plan(facts: Facts, target: Target, diagnosis: Diagnosis) -> Plan:
    """Collect the repairs that the findings carry. Pure; nothing is installed that no finding asks for."""
    pins = by_name(target.choice.pins) if target.choice else {}
    installed = facts.packages if isinstance(facts.packages, Packages) else Packages()
    steps: dict[str, Step] = {}
    flags: dict[str, str] = {}
    variables: dict[str, str | None] = {}
    remaining = []
    for finding in diagnosis.findings:
        for repair in finding.repair:
            if isinstance(repair, Pin) and repair.name in pins:
                before = installed.version(repair.name)
                steps[repair.name] = Step(name=repair.name, before=before, after=pins[repair.name])
            elif isinstance(repair, SetFlag):
                flags[repair.name] = repair.value
            elif isinstance(repair, SetVariable):
                variables[repair.name] = repair.value
        if not finding.repair and (finding.severity or Severity.NOTE) > Severity.NOTE:
            remaining.append(finding)
    kept = tuple(f"{d.name} {d.version}" for d in installed.distributions if d.name not in pins)
    return Plan(
        install=tuple(steps[name] for name in sorted(steps)),
        flags=dict(sorted(flags.items())),
        variables=dict(sorted(variables.items())),
        kept=kept,
        remaining=tuple(remaining),
    )
