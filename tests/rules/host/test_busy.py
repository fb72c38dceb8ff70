import pytest

from envdoctor.facts.model import Facts, Host, Origin
from envdoctor.rules.host.busy import busy
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


@pytest.mark.parametrize(
    ("host", "actual"),
    [
        (Host(cpus=8, pressure_cpu=45.2), "45 % pressure"),
        (Host(cpus=8, load=20.0), "load 20.0 on 8 CPUs"),
        (Host(cpus=96, cpu_quota=4.0, load=9.0), "load 9.0 on 4 CPUs"),
    ],
)
def test_others_at_work_are_noted(host: Host, actual: str) -> None:
    (finding,) = findings(busy, Facts(host=host))
    assert (finding.severity, finding.who, finding.actual) == (Severity.NOTE, "host", actual)


@pytest.mark.parametrize(
    "host", [Host(cpus=8, pressure_cpu=3.0), Host(cpus=8, load=7.0), Host(cpus=8, load=50.0, pressure_cpu=0.0), Host()]
)
def test_quiet(host: Host) -> None:
    assert silent(busy, Facts(host=host))


def test_unknown_and_past_are_skipped() -> None:
    assert skipped(busy, Facts())
    assert skipped(busy, Facts(host=Host(cpus=8, load=90.0), origin=Origin(kind="recorded")))
