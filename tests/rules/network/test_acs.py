import pytest

from envdoctor.facts.model import Facts, Gpus, Network
from envdoctor.rules.network.acs import acs
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped

NVLINK = (("X", "NV18"), ("NV18", "X"))


@pytest.mark.parametrize(
    ("given", "severity"),
    [
        (Facts(network=Network(acs=True), gpus=Gpus(count=2)), Severity.WARNING),
        (Facts(network=Network(acs=True, iommu=True), gpus=Gpus(count=8)), Severity.WARNING),
        (Facts(network=Network(acs=True), gpus=Gpus(count=2, topology=NVLINK)), Severity.NOTE),
        (Facts(network=Network(acs=True)), Severity.NOTE),
    ],
)
def test_on(given: Facts, severity: Severity) -> None:
    (finding,) = findings(acs, given)
    assert (finding.kind, finding.severity, finding.who) == ("slow-interconnect", severity, "host")


def test_off_or_one_gpu() -> None:
    assert silent(acs, Facts(network=Network(acs=False), gpus=Gpus(count=2)))
    assert silent(acs, Facts(network=Network(acs=True), gpus=Gpus(count=1)))
    assert silent(acs, Facts(network=Network(iommu=True), gpus=Gpus(count=2)))
    assert skipped(acs, Facts(network=Network(), gpus=Gpus(count=2)))
