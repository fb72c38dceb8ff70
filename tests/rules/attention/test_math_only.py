import pytest

from envdoctor.facts.model import Facts, Flag
from envdoctor.rules.attention.math_only import math_only
from envdoctor.rules.rule import SetFlag, Severity
from tests.rules.judging import asking, findings, silent, skipped, torch

ALL = "flash,efficient,math,cudnn"


@pytest.mark.parametrize(
    ("enabled", "severity"),
    [("math", Severity.WARNING), ("", Severity.ERROR), ("flash,efficient", Severity.NOTE)],
)
def test_what_is_left(enabled: str, severity: Severity) -> None:
    (finding,) = findings(math_only, Facts(torch=torch(sdp=enabled)), asking())
    assert (finding.kind, finding.severity) == ("flag-differs", severity)
    assert finding.repair == (() if severity is Severity.NOTE else (SetFlag(name="sdp", value=ALL),))


@pytest.mark.parametrize("enabled", [ALL, "flash,math", "math,efficient", Flag(error="x")])
def test_healthy(enabled: str | Flag) -> None:
    assert silent(math_only, Facts(torch=torch(sdp=enabled)), asking())


def test_a_target_with_an_order_of_its_own_has_another_rule() -> None:
    assert silent(math_only, Facts(torch=torch(sdp="math")), asking(sdp="cudnn,flash"))


def test_unknown_is_skipped() -> None:
    assert skipped(math_only, Facts())
