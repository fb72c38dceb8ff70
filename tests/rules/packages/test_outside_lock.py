from envdoctor.facts.model import Facts
from envdoctor.rules.packages.outside_lock import outside_lock
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, installed, locked, silent, skipped

TARGET = locked(torch="2.13.0")


def test_one_note_names_those_that_train_and_counts_the_others() -> None:
    packages = installed({"torch": "2.13.0", "flash-attn": "2.8.3", "jupyter": "1", "black": "1", "pip": "26"})
    (finding,) = findings(outside_lock, Facts(packages=packages), TARGET)
    assert finding.severity is Severity.NOTE
    assert finding.actual == "flash-attn and 2 others"
    assert not finding.repair


def test_exactly_the_lock_is_healthy() -> None:
    assert silent(outside_lock, Facts(packages=installed(torch="2.13.0", pip="26", setuptools="80")), TARGET)
    assert skipped(outside_lock, Facts(), TARGET)
    assert skipped(outside_lock, Facts(packages=installed()))
