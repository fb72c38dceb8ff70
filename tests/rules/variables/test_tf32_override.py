import pytest

from envdoctor.facts.model import Facts, Gpu, Gpus
from envdoctor.rules.rule import SetVariable, Severity
from envdoctor.rules.variables.tf32_override import tf32_override
from tests.rules.judging import asking, findings, silent, skipped


@pytest.mark.parametrize(
    ("name", "value", "severity"),
    [
        ("NVIDIA_TF32_OVERRIDE", "0", Severity.WARNING),
        ("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1", Severity.NOTE),
    ],
)
def test_overridden(name: str, value: str, severity: Severity) -> None:
    (finding,) = findings(tf32_override, Facts(variables={name: value}), asking())
    assert (finding.kind, finding.severity) == ("flag-differs", severity)
    assert finding.repair == (SetVariable(name=name, value=None),)


def test_without_tf32_it_does_nothing() -> None:
    t4 = Gpus(devices=(Gpu(index=0, name="Tesla T4"),))
    for facts, target in (
        (Facts(variables={"NVIDIA_TF32_OVERRIDE": "0"}, gpus=t4), asking()),
        (Facts(variables={"NVIDIA_TF32_OVERRIDE": "0"}), asking(capability=None)),
    ):
        (finding,) = findings(tf32_override, facts, target)
        assert (finding.kind, finding.severity) == ("no-effect", Severity.NOTE)


def test_healthy_and_unknown() -> None:
    assert silent(tf32_override, Facts(variables={"NVIDIA_TF32_OVERRIDE": "1"}), asking())
    assert silent(tf32_override, Facts(variables={}), asking())
    assert skipped(tf32_override, Facts(), asking())
