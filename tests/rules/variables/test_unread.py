import pytest

from envdoctor.facts import Facts
from envdoctor.knowledge.unread_variables import UNREAD
from envdoctor.rule import Severity
from envdoctor.rules.variables.unread import unread
from tests.rules.judging import findings, silent, skipped


@pytest.mark.parametrize("name", sorted(UNREAD))
def test_a_name_that_nobody_reads_is_noted(name: str) -> None:
    (finding,) = findings(unread, Facts(variables={name: "1"}))
    assert (finding.kind, finding.subject, finding.severity) == ("no-effect", name, Severity.NOTE)
    assert finding.expected == UNREAD[name]
    assert not finding.repair


def test_healthy_and_unknown() -> None:
    assert silent(unread, Facts(variables={"OMP_NUM_THREADS": "4"}))
    assert skipped(unread, Facts())
