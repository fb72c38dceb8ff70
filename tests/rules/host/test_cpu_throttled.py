import pytest

from envdoctor.facts.model import Facts, Host, Origin
from envdoctor.rules.host.cpu_throttled import cpu_throttled
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


def test_often_stopped() -> None:
    (finding,) = findings(cpu_throttled, Facts(host=Host(cpu_quota=4.0, cpu_periods=1000, cpu_throttled=350)))
    assert (finding.kind, finding.severity, finding.who) == ("host-limited", Severity.WARNING, "image")
    assert "35 %" in finding.actual
    assert finding.remedy.commands[0] == "export OMP_NUM_THREADS=4"


@pytest.mark.parametrize(("periods", "throttled"), [(1000, 99), (50, 50), (0, 0)])
def test_seldom_or_too_early_to_say(periods: int, throttled: int) -> None:
    assert silent(cpu_throttled, Facts(host=Host(cpu_periods=periods, cpu_throttled=throttled)))


def test_in_a_report_it_is_history() -> None:
    facts = Facts(host=Host(cpu_periods=1000, cpu_throttled=900), origin=Origin(kind="pasted"))
    (finding,) = findings(cpu_throttled, facts)
    assert finding.severity is Severity.NOTE


def test_unknown_is_skipped() -> None:
    assert skipped(cpu_throttled, Facts(host=Host(cpu_quota=4.0)))
    assert skipped(cpu_throttled, Facts())
