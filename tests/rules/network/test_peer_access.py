import pytest

from envdoctor.facts import Facts, Gpu, Gpus
from envdoctor.rule import Severity
from envdoctor.rules.network.peer_access import peer_access
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
