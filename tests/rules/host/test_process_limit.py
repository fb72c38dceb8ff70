import pytest

from envdoctor.facts.model import Facts, Host
from envdoctor.rules.host.process_limit import process_limit
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


@pytest.mark.parametrize(
    ("facts", "severity"),
    [
        (Facts(host=Host(processes_soft=256)), Severity.NOTE),
        (Facts(messages=("RuntimeError: can't start new thread",)), Severity.ERROR),
        (
            Facts(messages=("pthread_create failed: Resource temporarily unavailable",)),
            Severity.ERROR,
        ),
    ],
)
def test_few_or_reached(facts: Facts, severity: Severity) -> None:
    (finding,) = findings(process_limit, facts)
    assert (finding.kind, finding.severity, finding.who) == ("host-limited", severity, "image")


@pytest.mark.parametrize("limit", [-1, 1024, 31000])
def test_enough(limit: int) -> None:
    assert silent(process_limit, Facts(host=Host(processes_soft=limit)))


def test_unknown_is_skipped() -> None:
    assert skipped(process_limit, Facts(host=Host()))
    assert skipped(process_limit, Facts())
