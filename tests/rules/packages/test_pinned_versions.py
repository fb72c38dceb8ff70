import pytest

from envdoctor.facts import Facts, Origin
from envdoctor.rule import Pin, Severity
from envdoctor.rules.packages.pinned_versions import pinned_versions
from envdoctor.target import no_target
from tests.rules.judging import findings, installed, locked, silent, skipped


@pytest.mark.parametrize(
    ("actual", "pinned", "relation"),
    [
        ("2.12.0", "2.13.0", "older than"),
        ("2.14.0", "2.13.0", "newer than"),
        ("2.13.0+cpu", "2.13.0+cu130", "another build than"),
        ("2.13.0+cpu", "2.13.0", "another build than"),
        ("2.13.0.dev20260101", "2.13.0", "older than"),
        ("unknown", "2.13.0", "is not 2.13.0"),
    ],
)
def test_each_drift_names_both_versions(actual: str, pinned: str, relation: str) -> None:
    (finding,) = findings(pinned_versions, Facts(packages=installed(torch=actual)), locked(torch=pinned))
    assert (finding.kind, finding.subject) == ("version-drift", "torch")
    assert (finding.actual, finding.expected) == (actual, pinned)
    assert relation in finding.message
    assert finding.severity is Severity.WARNING
    assert finding.who == "you"
    assert finding.repair == (Pin(name="torch", version=pinned),)
    assert finding.remedy.commands == ("envdoctor fix --target h100",)


@pytest.mark.parametrize("actual", ["2.13.0", "2.13", "v2.13.0"])
def test_the_locked_version_is_healthy(actual: str) -> None:
    assert silent(pinned_versions, Facts(packages=installed(torch=actual, extra="1")), locked(torch="2.13.0"))


def test_plumbing_is_noted_only() -> None:
    (finding,) = findings(pinned_versions, Facts(packages=installed(certifi="1")), locked(certifi="2"))
    assert finding.severity is Severity.NOTE
    assert finding.repair == (Pin(name="certifi", version="2"),)


def test_a_pasted_report_quotes_the_label_that_the_wheel_does_not_carry() -> None:
    facts = Facts(packages=installed(torch="2.13.0+cu130"), origin=Origin(kind="pasted"))
    assert silent(pinned_versions, facts, locked(torch="2.13.0"))
    assert not silent(pinned_versions, Facts(packages=facts.packages), locked(torch="2.13.0"))


def test_absent_packages_are_another_rules_matter() -> None:
    assert silent(pinned_versions, Facts(packages=installed()), locked(torch="2.13.0"))


def test_unknown_is_skipped() -> None:
    assert skipped(pinned_versions, Facts(), locked(torch="2.13.0")) == "the report does not say"
    assert skipped(pinned_versions, Facts(packages=installed()), no_target()) == "no stack was chosen for this machine"
