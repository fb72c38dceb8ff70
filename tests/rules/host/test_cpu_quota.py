import pytest

from envdoctor.facts.model import Facts, Host, Torch
from envdoctor.rules.host.cpu_quota import cpu_quota
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


def facts(threads: int | None = None, **host: object) -> Facts:
    torch = Torch(version="2.13.0", threads=threads)
    return Facts(host=Host(**host), torch=torch) if threads else Facts(host=Host(**host))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "severity", "command"),
    [
        (facts(96, cpus=96, cpu_quota=7.65), Severity.WARNING, "export OMP_NUM_THREADS=7 MKL_NUM_THREADS=7"),
        (
            facts(12, cpus=12, affinity=12, cpu_quota=4.0),
            Severity.WARNING,
            "export OMP_NUM_THREADS=4 MKL_NUM_THREADS=4",
        ),
        (facts(4, cpus=12, cpu_quota=4.0), Severity.NOTE, "export OMP_NUM_THREADS=4 MKL_NUM_THREADS=4"),
        (facts(cpus=12, cpu_quota=0.5), Severity.NOTE, "export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1"),
    ],
)
def test_quota_below_what_is_visible(given: Facts, severity: Severity, command: str) -> None:
    (finding,) = findings(cpu_quota, given)
    assert (finding.kind, finding.severity, finding.who) == ("thread-count", severity, "you")
    assert finding.remedy.commands == (command,)
    assert not finding.repair


@pytest.mark.parametrize(
    "given",
    [
        facts(8, cpus=8),
        facts(8, cpus=8, cpu_quota=8.0),
        facts(2, cpus=52, affinity=2, cpu_quota=2.0),
        facts(8, cpu_quota=4.0),
    ],
    ids=["no quota", "all of it", "affinity says the same", "visible count unknown"],
)
def test_no_hidden_quota(given: Facts) -> None:
    assert silent(cpu_quota, given)


def test_unknown_is_skipped() -> None:
    assert skipped(cpu_quota, Facts())
