import pytest

from envdoctor.facts.model import Facts, Launcher, Network, Script
from envdoctor.rules.network.slow_nodes import slow_nodes
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


@pytest.mark.parametrize(
    "given",
    [
        Facts(network=Network(nodes=2, transport="sockets")),
        Facts(network=Network(nodes=2, interfaces=("eth0 10000",))),
        Facts(network=Network(transport="sockets", interfaces=("eth0 10000",)), variables={"NNODES": "2"}),
        Facts(
            network=Network(interfaces=("eth0 1000", "eth1 25000")), launcher=Launcher(settings={"num_machines": "4"})
        ),
        Facts(
            network=Network(nodes=2, transport="sockets", infiniband=("mlx5_0 active 400",), interfaces=("e 10000",))
        ),
    ],
)
def test_slow(given: Facts) -> None:
    (finding,) = findings(slow_nodes, given)
    assert (finding.kind, finding.severity, finding.who) == ("slow-interconnect", Severity.WARNING, "host")


def test_it_says_what_is_gathered() -> None:
    network = Network(nodes=2, interfaces=("eth0 10000",))
    for given, word in (
        (Facts(network=network, launcher=Launcher(settings={"deepspeed_config.zero_stage": "3"})), "ZeRO-3"),
        (Facts(network=network, launcher=Launcher(settings={"distributed_type": "FSDP"})), "FSDP"),
        (Facts(network=network, remarks={"training_file": "llama3_lora_sft_ds3.yaml"}), "ZeRO-3"),
        (Facts(network=network, scripts=(Script(path="ds.json", source='{"stage": 3}', language="json"),)), "ZeRO-3"),
        (Facts(network=network), "all gradients"),
    ):
        assert word in findings(slow_nodes, given)[0].message


@pytest.mark.parametrize(
    "given",
    [
        Facts(network=Network(nodes=1, transport="sockets", interfaces=("eth0 10000",))),
        Facts(network=Network(nodes=2, infiniband=("mlx5_0 active 400",), interfaces=("eth0 10000",))),
        Facts(network=Network(nodes=2, interfaces=("eth0 100000",))),
        Facts(network=Network(nodes=2)),
    ],
)
def test_fast_or_unknown(given: Facts) -> None:
    assert silent(slow_nodes, given)


def test_one_machine_of_unknown_company() -> None:
    assert skipped(slow_nodes, Facts(network=Network(transport="sockets")))
