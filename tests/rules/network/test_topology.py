from envdoctor.facts.model import Facts, Gpus
from envdoctor.rules.network.topology import topology
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


def test_far_pairs_and_the_near_ones_to_take() -> None:
    matrix = (("X", "PIX", "SYS"), ("PIX", "X", "SYS"), ("SYS", "SYS", "X"))
    (finding,) = findings(topology, Facts(gpus=Gpus(topology=matrix)))
    assert (finding.kind, finding.severity) == ("slow-interconnect", Severity.NOTE)
    assert finding.actual == "2 pairs across CPU sockets (0-2, 1-2)"
    assert finding.remedy.commands == ("CUDA_VISIBLE_DEVICES=0,1",)


def test_all_near_or_unknown() -> None:
    assert silent(topology, Facts(gpus=Gpus(topology=(("X", "NV4"), ("NV4", "X")))))
    assert skipped(topology, Facts(gpus=Gpus()))
