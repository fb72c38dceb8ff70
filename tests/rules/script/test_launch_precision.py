import pytest

from envdoctor.facts.model import Gpu, Gpus
from envdoctor.rules.rule import Severity
from envdoctor.rules.script.launch_precision import launch_precision
from tests.rules.judging import silent
from tests.rules.script.scripts import facts, found

YAML = "compute_environment: LOCAL_MACHINE\nmixed_precision: '{value}'\n"


@pytest.mark.parametrize(
    ("source", "language"),
    [
        (YAML.format(value="no"), "yaml"),
        (YAML.format(value="fp16"), "yaml"),
        ("accelerate launch --mixed_precision no train.py\n", "shell"),
    ],
)
def test_slower_than_bfloat16(source: str, language: str) -> None:
    (finding,) = found(launch_precision, source, language)
    assert (finding.kind, finding.severity) == ("script-slow", Severity.NOTE)


def test_bfloat16() -> None:
    assert silent(launch_precision, facts(YAML.format(value="bf16"), "yaml"))


def test_a_gpu_without_bfloat16() -> None:
    turing = Gpus(devices=(Gpu(index=0, name="Tesla T4", capability="7.5"),))
    assert silent(launch_precision, facts(YAML.format(value="fp16"), "yaml", gpus=turing))
