from envdoctor.facts.model import Facts, Network
from envdoctor.rules.network.infiniband_unused import infiniband_unused
from tests.rules.judging import findings, silent


def test_nccl_takes_sockets_beside_infiniband() -> None:
    given = Facts(network=Network(nodes=2, infiniband=("mlx5_0 active 400",), transport="sockets"))
    (finding,) = findings(infiniband_unused, given)
    assert (finding.kind, finding.who) == ("slow-interconnect", "image")


def test_used_alone_or_absent() -> None:
    assert silent(infiniband_unused, Facts(network=Network(nodes=2, infiniband=("mlx5_0 active 400",), transport="IB")))
    assert silent(
        infiniband_unused, Facts(network=Network(nodes=1, infiniband=("mlx5_0 active",), transport="sockets"))
    )
    assert silent(infiniband_unused, Facts(network=Network(nodes=2, infiniband=("mlx5_0 down",), transport="sockets")))
