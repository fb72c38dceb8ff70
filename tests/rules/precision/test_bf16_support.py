import pytest

from envdoctor.facts.model import Facts, Gpu, Gpus, Host, Launcher, Unavailable
from envdoctor.rules.precision.bf16_support import bf16_support
from envdoctor.rules.rule import Severity
from tests.rules.judging import asking, findings, silent, skipped

BF16 = Launcher(settings={"mixed_precision": "bf16"})
CPU = asking(capability=None)


def gpu(name: str) -> Gpus:
    return Gpus(devices=(Gpu(index=0, name=name),))


def test_a_gpu_before_ampere() -> None:
    (finding,) = findings(bf16_support, Facts(launcher=BF16, gpus=gpu("Tesla V100-SXM2-32GB")))
    assert (finding.kind, finding.severity, finding.expected) == ("config-mismatch", Severity.WARNING, "fp16")
    assert "7.0" in finding.message
    assert finding.remedy.commands == ("accelerate launch --mixed_precision fp16 train.py",)


def test_a_cpu_without_bf16() -> None:
    (finding,) = findings(bf16_support, Facts(launcher=BF16, host=Host(cpu_flags=("avx2", "avx512f"))), CPU)
    assert finding.expected == "no"


@pytest.mark.parametrize(
    "facts",
    [
        Facts(launcher=BF16, gpus=gpu("NVIDIA A100-SXM4-80GB")),
        Facts(launcher=BF16),
        Facts(launcher=Launcher(settings={"mixed_precision": "fp16"}), gpus=gpu("Tesla T4")),
        Facts(launcher=Launcher(), gpus=gpu("Tesla T4")),
        Facts(launcher=Unavailable(reason="no configuration", why="absent"), gpus=gpu("Tesla T4")),
    ],
)
def test_healthy(facts: Facts) -> None:
    assert silent(bf16_support, facts)


def test_a_cpu_with_bf16_and_one_that_is_not_known() -> None:
    assert silent(bf16_support, Facts(launcher=BF16, host=Host(cpu_flags=("amx_bf16",))), CPU)
    assert silent(bf16_support, Facts(launcher=BF16, host=Host()), CPU)


def test_unknown_is_skipped() -> None:
    assert skipped(bf16_support, Facts())
