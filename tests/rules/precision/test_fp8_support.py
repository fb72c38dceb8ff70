import pytest

from envdoctor.facts.model import Facts, Gpu, Gpus, Launcher, Unavailable
from envdoctor.rules.precision.fp8_support import fp8_support
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped

FP8 = Launcher(settings={"mixed_precision": "fp8"})


def gpu(name: str) -> Gpus:
    return Gpus(devices=(Gpu(index=0, name=name),))


@pytest.mark.parametrize(("name", "instead"), [("NVIDIA A100-SXM4-80GB", "bf16"), ("Tesla V100-SXM2-32GB", "fp16")])
def test_a_gpu_without_fp8(name: str, instead: str) -> None:
    (finding,) = findings(fp8_support, Facts(launcher=FP8, gpus=gpu(name)))
    assert (finding.kind, finding.severity, finding.expected) == ("config-mismatch", Severity.ERROR, instead)


@pytest.mark.parametrize("name", ["NVIDIA H100 80GB HBM3", "NVIDIA L40S", "NVIDIA GeForce RTX 4090", "something new"])
def test_healthy(name: str) -> None:
    assert silent(fp8_support, Facts(launcher=FP8, gpus=gpu(name)))


def test_unknown_is_skipped_and_no_launcher_is_fine() -> None:
    assert skipped(fp8_support, Facts())
    assert silent(fp8_support, Facts(launcher=Unavailable(reason="none", why="absent")))
