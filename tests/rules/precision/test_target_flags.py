import pytest

from envdoctor.facts.model import Facts, Flag
from envdoctor.locks.target import Target
from envdoctor.rules.precision.target_flags import target_flags
from envdoctor.rules.rule import SetFlag, Severity
from tests.rules.judging import asking, findings, silent, skipped, torch


@pytest.mark.parametrize(
    ("target", "severity"),
    [(asking(capability=None, threads="8"), Severity.WARNING), (asking(threads="8"), Severity.NOTE)],
)
def test_threads_decide_the_speed_of_a_cpu(target: Target, severity: Severity) -> None:
    (finding,) = findings(target_flags, Facts(torch=torch(threads="2")), target)
    assert (finding.kind, finding.subject, finding.severity) == ("flag-differs", "threads", severity)
    assert (finding.actual, finding.expected) == ("2", "8")
    assert finding.repair == (SetFlag(name="threads", value="8"),)


@pytest.mark.parametrize(
    "facts",
    [Facts(torch=torch(threads="8")), Facts(torch=torch(threads=Flag(error="x"))), Facts(torch=torch())],
)
def test_healthy(facts: Facts) -> None:
    assert silent(target_flags, facts, asking(threads="8"))


def test_flags_with_a_rule_of_their_own_are_left_to_it() -> None:
    assert silent(target_flags, Facts(torch=torch(sdp="math")), asking(sdp="flash,math"))


def test_unknown_is_skipped() -> None:
    assert skipped(target_flags, Facts(), asking(threads="8"))
    assert skipped(target_flags, Facts(torch=torch(threads="8")))
