"""Examinations made by hand: every severity, a symptom, a script finding, a skipped and a crashed rule."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts.model import Facts, Interpreter, Origin, Packages, Torch
from envdoctor.locks.target import StackChoice, Target
from envdoctor.rules.checkup import Checkup
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.plan import Plan
from envdoctor.rules.rule import Finding, Remedy, Rule, Severity, Skip

FACTS = Facts(
    origin=Origin(environment="~/env"),
    interpreter=Interpreter(version="3.11.7", executable="~/env/bin/python"),
    packages=Packages(),
    torch=Torch(version="2.13.0+cpu", cuda=""),
)
TARGET = Target(
    name="h100",
    title="NVIDIA H100",
    gpu_names=("H100",),
    capability="9.0",
    stacks=("cu130",),
    choice=StackChoice(stack="cu130", reason="first of the target's stacks"),
)


def _driver(facts: Facts, target: Target) -> Iterator[Finding]:
    """The driver is older than torch's CUDA needs.

    Why: torch cannot start CUDA at all.
    Fix: rent another machine.
    Source: somewhere
    """
    yield Finding(
        kind="driver-too-old",
        subject="driver",
        actual="470.57.02",
        expected=">= 580",
        message="torch was built with CUDA 13.0, which needs driver 580 or newer",
        who="host",
        remedy=Remedy(text="Only a newer driver helps."),
        explains=("torch/",),
    )


def _torch(facts: Facts, target: Target) -> Iterator[Finding]:
    """torch cannot use the GPU."""
    yield Finding(
        kind="cuda-init-failed",
        subject="torch.cuda",
        actual="not available",
        expected="available",
        message="CUDA does not start | not even \x1b[31monce\x1b[0m",
        remedy=Remedy(text="Mend the cause first."),
    )


def _versions(facts: Facts, target: Target) -> Iterator[Finding]:
    """Installed versions differ from the lock."""
    for name, actual, expected in (("accelerate", "0.30.1", "1.15.0"), ("transformers", "4.41.2", "5.23.0")):
        yield Finding(
            kind="version-drift",
            subject=name,
            actual=actual,
            expected=expected,
            message=f"{name} {actual} is installed, the lock has {expected}",
            remedy=Remedy(text="", commands=("envdoctor fix --target h100",)),
        )


def _note(facts: Facts, target: Target) -> Iterator[Finding]:
    """TF32 has no effect here."""
    yield Finding(
        kind="no-effect", subject="tf32", actual="on", expected="", message="all is bf16", remedy=Remedy(text="")
    )


def _script(facts: Facts, target: Target) -> Iterator[Finding]:
    """A debug setting is left in a script."""
    yield Finding(
        kind="debug-variable",
        subject="train.py:12",
        actual="CUDA_LAUNCH_BLOCKING=1",
        expected="",
        message="every kernel launch waits for the one before",
        remedy=Remedy(text="Remove the line."),
    )


def _skips(facts: Facts, target: Target) -> Iterator[Finding]:
    """Needs what is not there."""
    raise Skip("the report does not say")
    yield


def _crashes(facts: Facts, target: Target) -> Iterator[Finding]:
    """Is broken itself."""
    yield from ()
    raise RuntimeError("boom")


RULES = tuple(
    Rule(name=name, severity=severity, judge=judge, doc=judge.__doc__ or "")
    for name, severity, judge in (
        ("driver/cuda-line", Severity.ERROR, _driver),
        ("host/skips", Severity.ERROR, _skips),
        ("packages/pinned-versions", Severity.WARNING, _versions),
        ("precision/tf32", Severity.NOTE, _note),
        ("script/debug-settings", Severity.WARNING, _script),
        ("torch/cuda-unavailable", Severity.ERROR, _torch),
        ("variables/crashes", Severity.ERROR, _crashes),
    )
)


def checkup(rules: tuple[Rule, ...] = RULES) -> Checkup:
    diagnosis = diagnose(FACTS, TARGET, rules)
    return Checkup(
        facts=FACTS,
        target=TARGET,
        target_reason="asked for",
        diagnosis=diagnosis,
        plan=Plan(),
        rules=rules,
        seconds=0.8,
    )


def healthy() -> Checkup:
    return checkup(tuple(rule for rule in RULES if rule.name == "precision/tf32"))
