import pytest

from envdoctor.facts.model import Facts, Host, Network
from envdoctor.rules.host.locked_memory import locked_memory
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped

IB = Network(infiniband=("mlx5_0 active 400",))


def test_infiniband_needs_more() -> None:
    (finding,) = findings(locked_memory, Facts(host=Host(locked_memory=64 << 10), network=IB))
    assert (finding.kind, finding.severity, finding.who) == ("slow-interconnect", Severity.WARNING, "image")
    assert finding.remedy.commands == ("docker run --ulimit memlock=-1 IMAGE",)


def test_the_line_of_a_report() -> None:
    (finding,) = findings(locked_memory, Facts(messages=("NCCL WARN Call to ibv_reg_mr failed",)))
    assert finding.severity is Severity.ERROR


def test_a_bad_address_is_no_lack_of_locked_memory() -> None:
    line = "NCCL WARN Call to ibv_reg_mr_iova2 failed with error Bad address"
    assert skipped(locked_memory, Facts(messages=(line,)))


@pytest.mark.parametrize(
    ("limit", "network"),
    [(-1, IB), (8 << 30, IB), (64 << 10, Network()), (64 << 10, Network(interfaces=("eth0 10000",)))],
)
def test_healthy(limit: int, network: Network) -> None:
    assert silent(locked_memory, Facts(host=Host(locked_memory=limit), network=network))


def test_unknown_is_skipped() -> None:
    assert skipped(locked_memory, Facts(host=Host(locked_memory=1)))
    assert skipped(locked_memory, Facts())
