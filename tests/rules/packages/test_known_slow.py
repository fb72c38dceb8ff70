import pytest

from envdoctor.facts.model import Facts, Gpu, Gpus, Script
from envdoctor.rules.packages.known_slow import known_slow
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, installed, silent, skipped

T4 = Gpus(devices=(Gpu(index=0, name="Tesla T4"),))
A100 = Gpus(devices=(Gpu(index=0, name="NVIDIA A100-SXM4-40GB"),))
H100 = Gpus(devices=(Gpu(index=0, name="NVIDIA H100 80GB HBM3"),))


@pytest.mark.parametrize(
    ("versions", "facts", "severity"),
    [
        ({"torch": "2.9.0+cu128"}, {"remarks": {"model": "Qwen/Qwen3-VL-8B-Instruct"}}, Severity.WARNING),
        ({"torch": "2.9.1+cu128"}, {"scripts": (Script(path="t.py", source="nn.Conv3d(3, 4, 2)"),)}, Severity.WARNING),
        ({"torch": "2.9.0+cu128"}, {}, Severity.NOTE),
        ({"xformers": "0.0.28.post3"}, {"gpus": T4, "messages": ("attention is slow",)}, Severity.WARNING),
        ({"xformers": "0.0.28.post3"}, {"gpus": T4}, Severity.NOTE),
        ({"flash-attn": "2.8.3"}, {"gpus": H100}, Severity.NOTE),
        ({"torch": "2.5.1+cu121"}, {"messages": ("slow conv2d forward",)}, Severity.WARNING),
    ],
)
def test_slow_where_the_model_or_the_gpu_is_concerned(
    versions: dict[str, str], facts: dict[str, object], severity: Severity
) -> None:
    (finding,) = findings(known_slow, Facts(packages=installed(versions), **facts))  # type: ignore[arg-type]
    assert (finding.kind, finding.severity) == ("known-slow-version", severity)


@pytest.mark.parametrize(
    ("versions", "gpus"),
    [
        ({"torch": "2.10.0+cu130"}, H100),
        ({"torch": "2.9.0+cpu"}, None),
        ({"torch": "2.9.0.dev20250804+cu126"}, A100),
        ({"torch": "2.9.1+cu128", "nvidia-cudnn-cu12": "9.15.1.9"}, H100),
        ({"xformers": "0.0.29"}, T4),
        ({"xformers": "0.0.28.post3"}, A100),
        ({"flash-attn": "2.8.3"}, A100),
        ({"torch": "2.5.1+cu121"}, A100),
    ],
)
def test_elsewhere_there_is_nothing_to_say(versions: dict[str, str], gpus: Gpus | None) -> None:
    facts = Facts(packages=installed(versions), remarks={"model": "Qwen3-VL"})
    assert silent(
        known_slow, facts if gpus is None else Facts(packages=facts.packages, remarks=facts.remarks, gpus=gpus)
    )


def test_unknown_is_skipped() -> None:
    assert skipped(known_slow, Facts())
