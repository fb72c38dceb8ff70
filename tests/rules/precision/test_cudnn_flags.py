import pytest

from envdoctor.facts.model import Facts, Flag
from envdoctor.locks.target import Target
from envdoctor.rules.precision.cudnn_flags import cudnn_flags
from envdoctor.rules.rule import SetFlag, Severity
from tests.rules.judging import asking, findings, silent, skipped, torch


@pytest.mark.parametrize(
    ("flag", "kind", "severity"),
    [
        ("cudnn_benchmark", "no-effect", Severity.NOTE),
        ("cudnn_deterministic", "no-effect", Severity.NOTE),
        ("deterministic_algorithms", "flag-differs", Severity.WARNING),
    ],
)
def test_switched_on(flag: str, kind: str, severity: Severity) -> None:
    (finding,) = findings(cudnn_flags, Facts(torch=torch(**{flag: "true"})), asking())
    assert (finding.kind, finding.severity) == (kind, severity)
    assert (finding.subject, finding.actual, finding.expected) == (flag.replace("_", "-"), "true", "false")
    assert not finding.repair


def test_what_the_target_asks_for_is_repaired() -> None:
    (finding,) = findings(cudnn_flags, Facts(torch=torch(cudnn_benchmark="false")), asking(cudnn_benchmark="true"))
    assert finding.repair == (SetFlag(name="cudnn-benchmark", value="true"),)
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize("target", [asking(), asking(cudnn_benchmark="false")])
def test_defaults_and_unreadable_flags_are_healthy(target: Target) -> None:
    flags = {"cudnn_benchmark": "false", "cudnn_deterministic": Flag(error="x"), "deterministic_algorithms": "false"}
    assert silent(cudnn_flags, Facts(torch=torch(**flags)), target)
    assert silent(cudnn_flags, Facts(torch=torch()), target)


def test_unknown_is_skipped() -> None:
    assert skipped(cudnn_flags, Facts())
