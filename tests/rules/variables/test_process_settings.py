import pytest

from envdoctor.facts.model import Facts
from envdoctor.rules.rule import SetVariable, Severity
from envdoctor.rules.variables.process_settings import process_settings
from tests.rules.judging import asking, findings, silent, skipped

GPU = asking()


@pytest.mark.parametrize(
    ("variable", "value", "severity"),
    [
        ("CUDA_DEVICE_MAX_CONNECTIONS", "1", Severity.NOTE),
        ("CUDA_MODULE_LOADING", "EAGER", Severity.NOTE),
        ("TOKENIZERS_PARALLELISM", "false", Severity.NOTE),
        ("DISABLE_ADDMM_CUDA_LT", "1", Severity.NOTE),
    ],
)
def test_left_set(variable: str, value: str, severity: Severity) -> None:
    (finding,) = findings(process_settings, Facts(variables={variable: value}), GPU)
    assert (finding.kind, finding.subject, finding.actual) == ("no-effect", variable, value)
    assert (finding.severity, finding.who) == (severity, "you")
    assert finding.repair == (SetVariable(name=variable, value=None),)
    assert f"unset {variable}" in (*finding.remedy.commands, *finding.remedy.instead)
    assert finding.source.startswith("https://")


@pytest.mark.parametrize(
    "variables",
    [{}, {"CUDA_DEVICE_MAX_CONNECTIONS": "8"}, {"CUDA_MODULE_LOADING": "LAZY"}, {"TOKENIZERS_PARALLELISM": "true"}],
)
def test_off_is_healthy(variables: dict[str, str]) -> None:
    assert silent(process_settings, Facts(variables=variables), GPU)


def test_unknown_is_skipped() -> None:
    assert skipped(process_settings, Facts(), GPU)
