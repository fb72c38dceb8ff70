import pytest

from envdoctor.facts.model import Facts
from envdoctor.rules.rule import SetVariable, Severity
from envdoctor.rules.variables.profilers import profilers
from tests.rules.judging import asking, findings, silent, skipped

GPU, CPU = asking(), asking(capability=None)


@pytest.mark.parametrize(
    ("variable", "value", "severity"),
    [
        ("CUDA_INJECTION64_PATH", "/opt/libx.so", Severity.WARNING),
        ("CUDA_PROFILE", "1", Severity.WARNING),
        ("NSIGHT_CUDA_DEBUGGER", "1", Severity.WARNING),
        ("CUDA_AUTO_BOOST", "0", Severity.NOTE),
        ("CUDA_COREDUMP_FILE", "/tmp/x", Severity.NOTE),
    ],
)
def test_left_set(variable: str, value: str, severity: Severity) -> None:
    (finding,) = findings(profilers, Facts(variables={variable: value}), GPU)
    assert (finding.kind, finding.subject, finding.actual) == ("debug-variable", variable, value)
    assert (finding.severity, finding.who) == (severity, "you")
    assert finding.repair == (SetVariable(name=variable, value=None),)
    assert f"unset {variable}" in (*finding.remedy.commands, *finding.remedy.instead)
    assert finding.source.startswith("https://")


@pytest.mark.parametrize("variables", [{}, {"CUDA_INJECTION64_PATH": ""}, {"PATH": "/bin"}])
def test_off_is_healthy(variables: dict[str, str]) -> None:
    assert silent(profilers, Facts(variables=variables), GPU)


def test_what_acts_on_cuda_alone_is_noted_on_a_cpu() -> None:
    (finding,) = findings(profilers, Facts(variables={"CUDA_PROFILE": "1"}), CPU)
    assert finding.severity is Severity.NOTE
    assert "no effect on a CPU" in finding.message


def test_unknown_is_skipped() -> None:
    assert skipped(profilers, Facts(), GPU)
