import pytest

from envdoctor.facts.model import Facts, Network
from envdoctor.rules.network.peer_memory import peer_memory
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent

PORT = ("mlx5_0 active 400",)


@pytest.mark.parametrize(("nodes", "severity"), [(4, Severity.WARNING), (1, Severity.NOTE)])
def test_not_loaded(nodes: int, severity: Severity) -> None:
    (finding,) = findings(peer_memory, Facts(network=Network(nodes=nodes, infiniband=PORT, peer_memory=False)))
    assert (finding.kind, finding.severity) == ("slow-interconnect", severity)


def test_loaded_unknown_or_of_no_use() -> None:
    assert silent(peer_memory, Facts(network=Network(nodes=4, infiniband=PORT, peer_memory=True)))
    assert silent(peer_memory, Facts(network=Network(nodes=4, infiniband=PORT)))
    assert silent(peer_memory, Facts(network=Network(nodes=4, peer_memory=False)))
