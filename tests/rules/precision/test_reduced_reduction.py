import pytest

from envdoctor.facts.model import Facts, Flag
from envdoctor.locks.target import Target
from envdoctor.rules.precision.reduced_reduction import reduced_reduction
from envdoctor.rules.rule import SetFlag, Severity
from tests.rules.judging import asking, findings, silent, skipped, torch

ASKS = asking(bf16_reduced_precision_reduction="true")


def reads(value: str | Flag) -> Facts:
    return Facts(torch=torch(bf16_reduced_precision_reduction=value))


@pytest.mark.parametrize(
    ("target", "repair"),
    [
        (ASKS, (SetFlag(name="bf16-reduced-precision-reduction", value="true"),)),
        (asking(), ()),
    ],
)
def test_forbidden_is_noted(target: Target, repair: tuple[SetFlag, ...]) -> None:
    (finding,) = findings(reduced_reduction, reads("false"), target)
    assert (finding.kind, finding.severity) == ("flag-differs", Severity.NOTE)
    assert finding.repair == repair


@pytest.mark.parametrize(
    ("facts", "target"),
    [
        (reads("true"), ASKS),
        (reads("true"), asking()),
        (reads("false"), asking(bf16_reduced_precision_reduction="false")),
        (reads("false"), asking(capability=None)),
        (reads(Flag(error="x")), ASKS),
        (Facts(torch=torch()), ASKS),
    ],
)
def test_healthy(facts: Facts, target: Target) -> None:
    assert silent(reduced_reduction, facts, target)


def test_unknown_is_skipped() -> None:
    assert skipped(reduced_reduction, Facts(), ASKS)
