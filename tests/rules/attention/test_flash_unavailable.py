import pytest

from envdoctor.facts.model import Facts, Gpu, Gpus
from envdoctor.rules.attention.flash_unavailable import flash_unavailable
from envdoctor.rules.rule import Severity
from tests.rules.judging import asking, findings, installed, silent, skipped

T4 = Gpus(devices=(Gpu(index=0, name="Tesla T4"),))
A100 = Gpus(devices=(Gpu(index=0, name="NVIDIA A100-SXM4-80GB"),))


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("UserWarning: 1Torch was not compiled with flash attention.", Severity.WARNING),
        ("RuntimeError: No available kernel. Aborting execution.", Severity.ERROR),
        ("RuntimeError: FlashAttention only supports Ampere GPUs or newer.", Severity.ERROR),
    ],
)
def test_the_line_of_a_report(line: str, severity: Severity) -> None:
    (finding,) = findings(flash_unavailable, Facts(messages=(line,)))
    assert finding.severity is severity
    assert 'attn_implementation="sdpa"' in finding.remedy.text


def test_flash_attn_on_a_gpu_before_ampere() -> None:
    (finding,) = findings(flash_unavailable, Facts(gpus=T4, packages=installed({"flash-attn": "2.8.3"})))
    assert (finding.severity, finding.actual) == (Severity.NOTE, "flash-attn 2.8.3")


def test_healthy_and_unknown() -> None:
    assert silent(flash_unavailable, Facts(gpus=T4, packages=installed(torch="2.13.0")))
    assert silent(flash_unavailable, Facts(gpus=A100, packages=installed({"flash-attn": "2.8.3"})))
    assert silent(flash_unavailable, Facts(), asking(capability=None))
    assert skipped(flash_unavailable, Facts())
