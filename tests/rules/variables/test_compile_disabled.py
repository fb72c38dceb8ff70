import pytest

from envdoctor.facts.model import Facts
from envdoctor.rules.rule import SetVariable, Severity
from envdoctor.rules.variables.compile_disabled import compile_disabled
from tests.rules.judging import asking, findings, silent, skipped

GPU, CPU = asking(), asking(capability=None)


@pytest.mark.parametrize(
    ("variable", "value", "severity"),
    [
        ("TORCH_COMPILE_DISABLE", "1", Severity.WARNING),
        ("TORCHDYNAMO_DISABLE", "1", Severity.WARNING),
        ("TORCHDYNAMO_SUPPRESS_ERRORS", "1", Severity.WARNING),
        ("PYTORCH_JIT", "0", Severity.WARNING),
        ("TRITON_INTERPRET", "1", Severity.ERROR),
    ],
)
def test_left_set(variable: str, value: str, severity: Severity) -> None:
    (finding,) = findings(compile_disabled, Facts(variables={variable: value}), GPU)
    assert (finding.kind, finding.subject, finding.actual) == ("debug-variable", variable, value)
    assert (finding.severity, finding.who) == (severity, "you")
    assert finding.repair == (SetVariable(name=variable, value=None),)
    assert f"unset {variable}" in (*finding.remedy.commands, *finding.remedy.instead)
    assert finding.source.startswith("https://")


@pytest.mark.parametrize(
    "variables", [{}, {"TORCH_COMPILE_DISABLE": "0"}, {"PYTORCH_JIT": "1"}, {"TORCHDYNAMO_DISABLE": "false"}]
)
def test_off_is_healthy(variables: dict[str, str]) -> None:
    assert silent(compile_disabled, Facts(variables=variables), GPU)


def test_what_acts_on_cuda_alone_is_noted_on_a_cpu() -> None:
    (finding,) = findings(compile_disabled, Facts(variables={"TRITON_INTERPRET": "1"}), CPU)
    assert finding.severity is Severity.NOTE
    assert "no effect on a CPU" in finding.message


def test_unknown_is_skipped() -> None:
    assert skipped(compile_disabled, Facts(), GPU)
