import pytest

from envdoctor.facts.model import Facts, Gpu, Gpus, Launcher, Unavailable
from envdoctor.rules.precision.launcher_precision import launcher_precision
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped

A100 = Gpus(devices=(Gpu(index=0, name="NVIDIA A100-SXM4-80GB"),))
T4 = Gpus(devices=(Gpu(index=0, name="Tesla T4"),))


@pytest.mark.parametrize(("word", "text"), [("no", "float32"), ("fp16", "loss scaling")])
def test_less_than_the_gpu_offers_is_noted(word: str, text: str) -> None:
    facts = Facts(launcher=Launcher(settings={"mixed_precision": word}), gpus=A100)
    (finding,) = findings(launcher_precision, facts)
    assert (finding.severity, finding.expected) == (Severity.NOTE, "bf16")
    assert text in finding.message


@pytest.mark.parametrize(("word", "gpus"), [("bf16", A100), ("fp8", A100), ("fp16", T4), ("no", T4)])
def test_healthy(word: str, gpus: Gpus) -> None:
    assert silent(launcher_precision, Facts(launcher=Launcher(settings={"mixed_precision": word}), gpus=gpus))


def test_unknown_is_skipped_and_no_launcher_is_fine() -> None:
    assert skipped(launcher_precision, Facts(gpus=A100))
    assert silent(launcher_precision, Facts(launcher=Unavailable(reason="none", why="absent"), gpus=A100))
