from dataclasses import replace

import pytest

from envdoctor.facts.model import Facts, Origin
from envdoctor.locks.target import no_target
from envdoctor.rules.packages.pinned_versions import pinned_versions
from envdoctor.rules.rule import Pin, Severity
from tests.rules.judging import findings, installed, locked, silent, skipped


@pytest.mark.parametrize(
    ("actual", "pinned", "relation", "severity"),
    [
        ("2.12.0", "2.13.0", "older than", Severity.WARNING),
        ("2.14.0", "2.13.0", "newer than", Severity.NOTE),
        ("2.13.0+cpu", "2.13.0+cu130", "another build than", Severity.WARNING),
        ("2.13.0+cpu", "2.13.0", "another build than", Severity.WARNING),
        ("2.13.0.dev20260101", "2.13.0", "older than", Severity.WARNING),
        ("unknown", "2.13.0", "is not 2.13.0", Severity.WARNING),
    ],
)
def test_each_drift_names_both_versions(actual: str, pinned: str, relation: str, severity: Severity) -> None:
    (finding,) = findings(pinned_versions, Facts(packages=installed(torch=actual)), locked(torch=pinned))
    assert (finding.kind, finding.subject) == ("version-drift", "torch")
    assert (finding.actual, finding.expected) == (actual, pinned)
    assert relation in finding.message
    assert finding.severity is severity
    assert finding.who == "you"
    assert finding.repair == (Pin(name="torch", version=pinned),)
    assert finding.remedy.commands == ("envdoctor fix --target h100",)


@pytest.mark.parametrize("actual", ["2.13.0", "2.13", "v2.13.0"])
def test_the_locked_version_is_healthy(actual: str) -> None:
    assert silent(pinned_versions, Facts(packages=installed(torch=actual, extra="1")), locked(torch="2.13.0"))


def test_a_cpu_build_of_the_locked_release_is_what_a_cpu_stack_means() -> None:
    stack = locked("cpu", cuda="", gpu=False, torch="2.15.0")
    assert silent(pinned_versions, Facts(packages=installed(torch="2.15.0+cpu")), stack)
    for other in ("2.14.1+cpu", "2.15.0+cu132"):
        assert not silent(pinned_versions, Facts(packages=installed(torch=other)), stack)
    assert not silent(pinned_versions, Facts(packages=installed(torch="2.15.0+cpu")), locked(torch="2.15.0"))


def test_plumbing_is_noted_only() -> None:
    (finding,) = findings(pinned_versions, Facts(packages=installed(certifi="1")), locked(certifi="2"))
    assert finding.severity is Severity.NOTE
    assert finding.repair == (Pin(name="certifi", version="2"),)


def test_many_are_one_finding_with_a_table_and_one_for_those_that_are_newer() -> None:
    there = installed(torch="2.12.0", numpy="1.26.4", certifi="1", transformers="5.30.0", accelerate="1.20.0")
    pins = locked(torch="2.13.0", numpy="2.4.6", certifi="2", transformers="5.23.0", accelerate="1.15.0")
    older, newer, plumbing = findings(pinned_versions, Facts(packages=there), pins)
    assert older.severity is Severity.WARNING
    assert [(row.subject, row.actual, row.expected) for row in older.rows] == [
        ("torch", "2.12.0", "2.13.0"),
        ("numpy", "1.26.4", "2.4.6"),
    ]
    assert older.message == "2 packages are older than cu130 locks them: torch 2.12.0 (2.13.0), numpy 1.26.4 (2.4.6)."
    assert [pin.name for pin in older.repair if isinstance(pin, Pin)] == ["torch", "numpy"]
    assert (newer.severity, [row.subject for row in newer.rows]) == (Severity.NOTE, ["accelerate", "transformers"])
    assert (plumbing.severity, plumbing.subject, plumbing.rows) == (Severity.NOTE, "certifi", ())


def test_the_stack_that_is_installed_is_compared_with_and_the_newer_one_named() -> None:
    target = locked(torch="2.13.0")
    assert target.choice is not None
    target = replace(target, choice=replace(target.choice, preferred="cu132"))
    (note,) = findings(pinned_versions, Facts(packages=installed(torch="2.13.0")), target)
    assert (note.severity, note.subject, note.expected, note.repair) == (Severity.NOTE, "stack", "cu132", ())


def test_an_index_of_its_own_labels_the_same_build() -> None:
    facts = Facts(packages=installed(torch="2.13.0+cu130"), origin=Origin(kind="pasted"))
    assert silent(pinned_versions, facts, locked(torch="2.13.0"))
    assert silent(pinned_versions, Facts(packages=facts.packages), locked(torch="2.13.0"))
    assert not silent(pinned_versions, Facts(packages=installed(torch="2.13.0+cu126")), locked(torch="2.13.0"))


def test_absent_packages_are_another_rules_matter() -> None:
    assert silent(pinned_versions, Facts(packages=installed()), locked(torch="2.13.0"))


def test_unknown_is_skipped() -> None:
    assert skipped(pinned_versions, Facts(), locked(torch="2.13.0")) == "the report does not say"
    assert skipped(pinned_versions, Facts(packages=installed()), no_target()) == "no stack was chosen for this machine"
