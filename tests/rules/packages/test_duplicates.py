from dataclasses import replace

from envdoctor.facts.model import DamagedFile, Distribution, Facts, Packages
from envdoctor.rules.packages.duplicates import duplicates
from envdoctor.rules.rule import Pin, Severity
from tests.rules.judging import findings, installed, locked, silent, skipped


def twice(one: str | None, other: str | None) -> Facts:
    rows = tuple(
        Distribution(name="numpy", version=version, location=location)
        for version, location in (("2.4.6", one), ("1.26.4", other))
    )
    return Facts(packages=Packages(distributions=rows))


def test_two_records_in_one_place_are_an_error() -> None:
    (finding,) = findings(duplicates, twice("/env/site-packages", "/env/site-packages"), locked(numpy="2.4.6"))
    assert (finding.kind, finding.subject, finding.actual) == ("package-damaged", "numpy", "2.4.6, 1.26.4")
    assert finding.severity is Severity.ERROR
    assert "packages/pinned-versions numpy" in finding.explains
    assert finding.repair == (Pin(name="numpy", version="2.4.6"),)
    assert finding.remedy.commands == ("envdoctor fix --target h100",)


def test_two_places_are_noted() -> None:
    (finding,) = findings(duplicates, twice("/env/site-packages", "/home/me/.local/site-packages"))
    assert finding.severity is Severity.NOTE
    assert not finding.repair
    assert finding.remedy.commands[0] == "python -m pip uninstall -y numpy"


def test_the_probe_may_have_seen_the_second_record_only_as_damage() -> None:
    piece = DamagedFile(
        distribution="numpy", kind="duplicate", path="numpy-1.26.4.dist-info", detail="also numpy-2.4.6"
    )
    facts = Facts(packages=replace(installed(numpy="2.4.6"), damaged=(piece,)))
    (finding,) = findings(duplicates, facts)
    assert finding.severity is Severity.ERROR


def test_once_is_healthy() -> None:
    assert silent(duplicates, Facts(packages=installed(numpy="2.4.6", torch="2.13.0")))
    assert skipped(duplicates, Facts())
