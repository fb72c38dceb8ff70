"""One line per judgement: run one rule through the real `diagnose` and look at what it yields."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.facts.model import Distribution, Facts, Flag, Packages, Torch
from envdoctor.locks.stack import Locked
from envdoctor.locks.target import StackChoice, Target, no_target
from envdoctor.rules.diagnose import Diagnosis, diagnose
from envdoctor.rules.rule import Finding, Rule

NOTHING = no_target()


def findings(rule: Rule, facts: Facts, target: Target = NOTHING) -> tuple[Finding, ...]:
    """What the rule finds; a rule that crashes or skips fails the test that expected findings."""
    diagnosis = diagnose(facts, target, [rule])
    assert not diagnosis.crashed, diagnosis.crashed
    assert not diagnosis.skipped, diagnosis.skipped
    return diagnosis.findings


def silent(rule: Rule, facts: Facts, target: Target = NOTHING) -> bool:
    """No finding, whether the rule was skipped or found everything well."""
    diagnosis = diagnose(facts, target, [rule])
    assert not diagnosis.crashed, diagnosis.crashed
    return not diagnosis.findings


def skipped(rule: Rule, facts: Facts, target: Target = NOTHING) -> str | None:
    """The reason for which the rule was skipped, or None when it was judged."""
    diagnosis: Diagnosis = diagnose(facts, target, [rule])
    assert not diagnosis.crashed, diagnosis.crashed
    return diagnosis.skipped[0].reason if diagnosis.skipped else None


def installed(versions: Mapping[str, str] | None = None, *, complete: bool = True, **names: str) -> Packages:
    """Packages by name and version; keyword names take underscores."""
    everything = {**(versions or {}), **{name.replace("_", "-"): version for name, version in names.items()}}
    return Packages(
        distributions=tuple(Distribution(name=name, version=version) for name, version in everything.items()),
        complete=complete,
    )


def locked(name: str = "h100", *, cuda: str = "13.0", gpu: bool = True, **pins: str) -> Target:
    """A target with a chosen stack that pins these versions."""
    rows = tuple(
        Locked(name=pin.replace("_", "-"), version=version, wheel="", sha256="0" * 64) for pin, version in pins.items()
    )
    return Target(
        name=name,
        title=name.upper(),
        capability="9.0" if gpu else None,
        choice=StackChoice(stack="cu130", reason="tests", pins=rows, cuda=cuda),
    )


def asking(capability: str | None = "9.0", **flags: str) -> Target:
    """A target that asks for flags; ``capability=None`` is a CPU target."""
    return Target(
        name="h100" if capability else "cpu",
        title="a target",
        capability=capability,
        flags={name.replace("_", "-"): value for name, value in flags.items()},
    )


def torch(version: str = "2.13.0+cu130", *, cuda: str | None = "13.0", **flags: str | Flag) -> Torch:
    """A torch whose flags read as given; a `Flag` stands for a read that failed."""
    return Torch(
        version=version,
        cuda=cuda,
        flags={
            name.replace("_", "-"): value if isinstance(value, Flag) else Flag(value=value)
            for name, value in flags.items()
        },
    )
