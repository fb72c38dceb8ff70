"""Diagnosis + target -> plan: which repairs one atomic change can make, and what must be left to whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from envdoctor.diagnose import Diagnosis
from envdoctor.facts import Facts, Packages
from envdoctor.frozen import dataclass
from envdoctor.rule import Finding, Pin, SetFlag, SetVariable, Severity
from envdoctor.stack import Locked, by_name
from envdoctor.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One package: from what is installed (None: missing) to what is locked."""

    name: str
    before: str | None
    after: Locked


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a change will do; ``install`` holds only what differs from the lock or is damaged."""

    install: tuple[Step, ...] = ()
    flags: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str | None] = field(default_factory=dict)
    kept: tuple[str, ...] = ()  # installed, not in the lock: carried over as they are
    remaining: tuple[Finding, ...] = ()  # errors and warnings that no change of ours repairs
    reasons: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        return not (self.install or self.flags or self.variables)


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
