import pytest

from envdoctor.facts.model import Driver, Facts, Gpu, Gpus
from envdoctor.rules.network.old_driver_peer import old_driver_peer
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent


def machine(driver: str, name: str = "NVIDIA GeForce RTX 4090", count: int = 2, **variables: str) -> Facts:
    devices = tuple(Gpu(index=index, name=name) for index in range(count))
    return Facts(driver=Driver(kernel_module=driver), gpus=Gpus(devices=devices), variables=variables)


@pytest.mark.parametrize(
    ("given", "severity"),
    [
        (machine("535.183.01", WORLD_SIZE="2"), Severity.WARNING),
        (machine("535.183.01", WORLD_SIZE="2", NCCL_P2P_DISABLE="1"), Severity.NOTE),
        (machine("535.183.01"), Severity.NOTE),
    ],
)
def test_peer_access_that_does_not_work(given: Facts, severity: Severity) -> None:
    (finding,) = findings(old_driver_peer, given)
    assert (finding.kind, finding.severity) == ("slow-interconnect", severity)


@pytest.mark.parametrize(
    "given",
    [
        machine("550.40.07", WORLD_SIZE="2"),
        machine("580.65.06", WORLD_SIZE="2"),
        machine("535.183.01", name="NVIDIA RTX A6000", WORLD_SIZE="2"),
        machine("535.183.01", count=1),
        machine("550"),
    ],
)
def test_works_or_is_not_used(given: Facts) -> None:
    assert silent(old_driver_peer, given)
