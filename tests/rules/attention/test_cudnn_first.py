import pytest

from envdoctor.facts import Facts, Gpu, Gpus
from envdoctor.rule import Severity
from envdoctor.rules.attention.cudnn_first import cudnn_first
from tests.rules.judging import asking, findings, silent, skipped, torch


def on(gpu: str, sdp: str = "cudnn,flash,efficient,math") -> Facts:
    return Facts(torch=torch(sdp=sdp), gpus=Gpus(devices=(Gpu(index=0, name=gpu),)))


@pytest.mark.parametrize(("gpu", "ratio"), [("NVIDIA A100-SXM4-80GB", "0.82"), ("NVIDIA A10G", "0.93")])
def test_slower_than_flash_here(gpu: str, ratio: str) -> None:
    (finding,) = findings(cudnn_first, on(gpu))
    assert (finding.kind, finding.severity) == ("flag-differs", Severity.WARNING)
    assert ratio in finding.message


@pytest.mark.parametrize(
    "facts",
    [
        on("NVIDIA H100 80GB HBM3"),
        on("NVIDIA L40S"),  # measured even
        on("NVIDIA A100-SXM4-80GB", "flash,efficient,math,cudnn"),
        on("NVIDIA A100-SXM4-80GB", "cudnn"),  # no order: the only one
        Facts(torch=torch(), gpus=Gpus(devices=(Gpu(index=0, name="NVIDIA A100-SXM4-80GB"),))),
    ],
)
def test_healthy(facts: Facts) -> None:
    assert silent(cudnn_first, facts)


def test_the_targets_own_order_is_not_questioned() -> None:
    assert silent(cudnn_first, on("NVIDIA A100-SXM4-80GB"), asking("8.0", sdp="cudnn,flash"))


def test_unknown_is_skipped() -> None:
    assert skipped(cudnn_first, Facts())
    assert skipped(cudnn_first, Facts(torch=torch(sdp="cudnn,flash")))
