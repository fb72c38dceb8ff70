import pytest

from envdoctor.facts.model import Facts, Network
from envdoctor.rules.network.infiniband_down import infiniband_down
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


@pytest.mark.parametrize(("nodes", "severity"), [(2, Severity.WARNING), (1, Severity.NOTE), (None, Severity.NOTE)])
def test_a_port_is_down(nodes: int | None, severity: Severity) -> None:
    given = Facts(network=Network(nodes=nodes, infiniband=("mlx5_0 active 400", "mlx5_1 down 400", "mlx5_2 polling")))
    (finding,) = findings(infiniband_down, given)
    assert (finding.kind, finding.severity, finding.subject) == ("slow-interconnect", severity, "mlx5_1, mlx5_2")


def test_all_up_or_none_there() -> None:
    assert silent(infiniband_down, Facts(network=Network(nodes=2, infiniband=("mlx5_0 active 400",))))
    assert silent(infiniband_down, Facts(network=Network(nodes=2)))
    assert skipped(infiniband_down, Facts())
