import pytest

from envdoctor.facts.model import Facts, Gpu, Gpus
from envdoctor.rules.attention.flash_generation import flash_generation
from envdoctor.rules.rule import Severity
from tests.rules.judging import asking, findings, installed, silent, skipped


def on(gpu: str, **versions: str) -> Facts:
    named = {name.replace("_", "-"): version for name, version in versions.items()}
    return Facts(gpus=Gpus(devices=(Gpu(index=0, name=gpu),)), packages=installed(named))


A100, H100, B200 = "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "NVIDIA B200"


@pytest.mark.parametrize(
    ("facts", "subject", "severity"),
    [
        (on("NVIDIA L40S", flash_attn_3="3.0.0"), "flash-attn-3", Severity.WARNING),
        (on(B200, flash_attn="3.0.0"), "flash-attn-3", Severity.WARNING),
        (on(A100, flash_attn_4="4.0.0b3"), "flash-attn-4", Severity.WARNING),
        (on(H100, flash_attn="2.8.3"), "flash-attn", Severity.NOTE),
    ],
)
def test_of_another_generation(facts: Facts, subject: str, severity: Severity) -> None:
    (finding,) = findings(flash_generation, facts)
    assert (finding.subject, finding.severity) == (subject, severity)


@pytest.mark.parametrize(
    "facts",
    [
        on(H100, flash_attn_3="3.0.0", flash_attn="2.8.3"),
        on(B200, flash_attn_4="4.0.0b3"),
        on(A100, flash_attn="2.8.3"),
        on(B200, flash_attn="2.8.3"),
        on(H100),
    ],
)
def test_healthy(facts: Facts) -> None:
    assert silent(flash_generation, facts)


def test_unknown_is_skipped() -> None:
    assert skipped(flash_generation, Facts())
    assert skipped(flash_generation, Facts(packages=installed({"flash-attn-3": "3.0.0"})))
    assert silent(flash_generation, Facts(packages=installed({"flash-attn-3": "3.0.0"})), asking(capability=None))
