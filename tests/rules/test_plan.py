"""From findings to a plan: only what a finding asks for, and nothing outside the lock."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts.model import Distribution, Facts, Packages
from envdoctor.locks.stack import Locked
from envdoctor.locks.target import Choice, Target
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.finding import Finding, Pin, Remedy, Repair, SetFlag, SetVariable, Severity
from envdoctor.rules.plan import plan
from envdoctor.rules.rule import Rule

PINS = tuple(
    Locked(name=name, version=version, wheel=f"{name}-{version}-py3-none-any.whl", sha256="0" * 64)
    for name, version in (("torch", "2.13.0+cpu"), ("transformers", "5.23.0"))
)
TARGET = Target(name="cpu", title="CPU", choice=Choice(stack="cpu", reason="only one", pins=PINS))
FACTS = Facts(
    packages=Packages(
        distributions=(Distribution(name="transformers", version="4.41.2"), Distribution(name="mine", version="1.0"))
    )
)


def finding(subject: str, *repair: Repair) -> Finding:
    return Finding(
        kind="version-drift", subject=subject, actual="", expected="", message="", remedy=Remedy(text=""), repair=repair
    )


def planned(*findings: Finding, severity: Severity = Severity.ERROR):
    def judge(facts: Facts, target: Target) -> Iterator[Finding]:
        yield from findings

    rule = Rule(name="packages/any", severity=severity, judge=judge, doc="Any.")
    return plan(FACTS, TARGET, diagnose(FACTS, TARGET, [rule]))


def test_pins_become_steps_with_both_versions_in_order() -> None:
    made = planned(
        finding("transformers", Pin(name="transformers", version="5.23.0")),
        finding("torch", Pin(name="torch", version="2.13.0+cpu")),
    )
    assert [(s.name, s.before, s.after.version) for s in made.install] == [
        ("torch", None, "2.13.0+cpu"),
        ("transformers", "4.41.2", "5.23.0"),
    ]


def test_what_is_newer_than_the_lock_is_a_downgrade_which_can_be_left_out() -> None:
    facts = Facts(
        packages=Packages(
            distributions=(
                Distribution(name="torch", version="2.13.0+cu130"),
                Distribution(name="transformers", version="5.24.0"),
            )
        )
    )
    rule = Rule(
        name="packages/any",
        severity=Severity.NOTE,
        judge=lambda facts, target: iter([finding("all", *(Pin(name=pin.name, version=pin.version) for pin in PINS))]),
        doc="Any.",
    )
    made = plan(facts, TARGET, diagnose(facts, TARGET, [rule]))
    assert [(step.name, step.downgrade) for step in made.install] == [("torch", False), ("transformers", True)]
    assert [step.name for step in made.keeping_newer().install] == ["torch"]


def test_a_pin_outside_the_lock_is_not_installed() -> None:
    assert planned(finding("other", Pin(name="other", version="1"))).empty


def test_flags_and_variables_are_collected() -> None:
    made = planned(
        finding("tf32", SetFlag(name="float32-matmul-precision", value="high"), SetVariable(name="X", value=None))
    )
    assert (made.flags, made.variables, made.empty) == ({"float32-matmul-precision": "high"}, {"X": None}, False)


def test_what_no_change_repairs_remains_and_packages_outside_the_lock_are_kept() -> None:
    made = planned(finding("driver"))
    assert [f.subject for f in made.remaining] == ["driver"]
    assert made.kept == ("mine 1.0",)
    assert planned(finding("a note"), severity=Severity.NOTE).remaining == ()
