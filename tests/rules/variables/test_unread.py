import pytest

from envdoctor.facts.model import Facts
from envdoctor.knowledge.variables import UNREAD, Unread
from envdoctor.rules.rule import Severity
from envdoctor.rules.variables.unread import unread
from tests.rules.judging import findings, silent, skipped


@pytest.mark.parametrize("row", tuple(UNREAD), ids=lambda row: row.name)
def test_a_name_that_nobody_reads_is_noted(row: Unread) -> None:
    (finding,) = findings(unread, Facts(variables={row.name: "1"}))
    assert (finding.kind, finding.subject, finding.severity) == ("no-effect", row.name, Severity.NOTE)
    assert finding.expected == row.instead
    assert not finding.repair


def test_healthy_and_unknown() -> None:
    assert silent(unread, Facts(variables={"OMP_NUM_THREADS": "4"}))
    assert skipped(unread, Facts())
