import pytest

from envdoctor.facts.model import Facts
from envdoctor.rules.rule import SetVariable, Severity
from envdoctor.rules.variables.caches_disabled import caches_disabled
from tests.rules.judging import asking, findings, silent, skipped

GPU, CPU = asking(), asking(capability=None)


@pytest.mark.parametrize(
    ("variable", "value", "severity"),
    [
        ("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1", Severity.WARNING),
        ("TORCHINDUCTOR_FX_GRAPH_CACHE", "0", Severity.WARNING),
        ("CUDA_CACHE_DISABLE", "1", Severity.WARNING),
        ("TRITON_ALWAYS_COMPILE", "1", Severity.WARNING),
    ],
)
def test_left_set(variable: str, value: str, severity: Severity) -> None:
    (finding,) = findings(caches_disabled, Facts(variables={variable: value}), GPU)
    assert (finding.kind, finding.subject, finding.actual) == ("debug-variable", variable, value)
    assert (finding.severity, finding.who) == (severity, "you")
    assert finding.repair == (SetVariable(name=variable, value=None),)
    assert f"unset {variable}" in (*finding.remedy.commands, *finding.remedy.instead)
    assert finding.source.startswith("https://")


@pytest.mark.parametrize("variables", [{}, {"TORCHINDUCTOR_FX_GRAPH_CACHE": "1"}, {"CUDA_CACHE_DISABLE": "0"}])
def test_off_is_healthy(variables: dict[str, str]) -> None:
    assert silent(caches_disabled, Facts(variables=variables), GPU)


def test_what_acts_on_cuda_alone_is_noted_on_a_cpu() -> None:
    (finding,) = findings(caches_disabled, Facts(variables={"CUDA_CACHE_DISABLE": "1"}), CPU)
    assert finding.severity is Severity.NOTE
    assert "no effect on a CPU" in finding.message


def test_unknown_is_skipped() -> None:
    assert skipped(caches_disabled, Facts(), GPU)
