import pytest

from envdoctor.facts.model import Facts, Gpu, Gpus
from envdoctor.rules.network.peer_access import peer_access
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped

CLOSED = ((True, False), (False, True))


def gpus(name: str, matrix: tuple[tuple[bool, ...], ...] = CLOSED) -> Facts:
    return Facts(gpus=Gpus(devices=(Gpu(index=0, name=name), Gpu(index=1, name=name)), peer_access=matrix))


@pytest.mark.parametrize(
    ("name", "severity"), [("NVIDIA A100-SXM4-80GB", Severity.WARNING), ("NVIDIA GeForce RTX 4090", Severity.NOTE)]
)
def test_closed(name: str, severity: Severity) -> None:
    (finding,) = findings(peer_access, gpus(name))
    assert (finding.kind, finding.severity) == ("slow-interconnect", severity)
    assert finding.actual == "1 of 1 pairs closed"


def test_open_or_unknown() -> None:
    assert silent(peer_access, gpus("NVIDIA A100-SXM4-80GB", ((True, True), (True, True))))
    assert skipped(peer_access, gpus("NVIDIA A100-SXM4-80GB", ()))


def test_in_a_clouds_virtual_machine_nobody_here_can_change_it() -> None:
    cards = tuple(Gpu(index=index, name="Tesla T4", virtual=True) for index in range(2))
    (finding,) = findings(peer_access, Facts(gpus=Gpus(devices=cards, peer_access=CLOSED)))
    assert finding.severity is Severity.NOTE
    joined = tuple(Gpu(index=index, name="NVIDIA A100-SXM4-80GB", virtual=True) for index in range(2))
    (finding,) = findings(peer_access, Facts(gpus=Gpus(devices=joined, peer_access=CLOSED)))
    assert finding.severity is Severity.WARNING  # these have NVLink: something is wrong
