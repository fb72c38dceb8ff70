import pytest

from envdoctor.facts.model import Facts, Gpus, Host
from envdoctor.rules.host.cpus_per_gpu import cpus_per_gpu
from envdoctor.rules.rule import Severity
from tests.rules.judging import asking, findings, silent, skipped


@pytest.mark.parametrize(
    ("host", "gpus", "actual"),
    [
        (Host(cpus=1), 1, "1 CPUs for 1 GPU"),
        (Host(cpus=128, cpu_quota=8.0), 8, "8 CPUs for 8 GPUs"),
        (Host(cpus=64, affinity=3), 2, "3 CPUs for 2 GPUs"),
    ],
)
def test_too_few(host: Host, gpus: int, actual: str) -> None:
    (finding,) = findings(cpus_per_gpu, Facts(host=host, gpus=Gpus(count=gpus)))
    assert (finding.kind, finding.severity, finding.who) == ("host-limited", Severity.WARNING, "host")
    assert finding.actual == actual


def test_healthy_and_unknown() -> None:
    assert silent(cpus_per_gpu, Facts(host=Host(cpus=16), gpus=Gpus(count=8)))
    assert silent(cpus_per_gpu, Facts(host=Host(cpus=1)), asking(capability=None))
    assert skipped(cpus_per_gpu, Facts(host=Host(cpus=1)))
    assert skipped(cpus_per_gpu, Facts(host=Host(), gpus=Gpus(count=1)))
    assert skipped(cpus_per_gpu, Facts())
