import pytest

from envdoctor.facts.model import Facts, Flag
from envdoctor.rules.attention.sdp_backends import sdp_backends
from envdoctor.rules.rule import SetFlag, Severity
from tests.rules.judging import asking, findings, silent, skipped, torch

HOPPER = asking(sdp="cudnn,flash,efficient,math")
DEFAULT = "flash,efficient,math,cudnn"


@pytest.mark.parametrize(
    ("actual", "severity", "words"),
    [
        (DEFAULT, Severity.WARNING, "tried in the order flash, efficient, math, cudnn"),
        ("math", Severity.WARNING, "switched off: cudnn, flash, efficient"),
        ("cudnn,flash,math", Severity.WARNING, "switched off: efficient"),
        ("cudnn,efficient,flash,math", Severity.NOTE, "tried in the order cudnn, efficient"),
        ("", Severity.WARNING, "switched off: cudnn, flash, efficient, math"),
    ],
)
def test_another_order_or_set(actual: str, severity: Severity, words: str) -> None:
    (finding,) = findings(sdp_backends, Facts(torch=torch(sdp=actual)), HOPPER)
    assert (finding.kind, finding.severity) == ("flag-differs", severity)
    assert words in finding.message
    assert finding.repair == (SetFlag(name="sdp", value="cudnn,flash,efficient,math"),)


@pytest.mark.parametrize("value", ["cudnn,flash,efficient,math", "cudnn, flash, efficient, math", Flag(error="x")])
def test_as_the_target_asks(value: str | Flag) -> None:
    assert silent(sdp_backends, Facts(torch=torch(sdp=value)), HOPPER)


def test_on_a_cpu_only_flash_and_math_exist_and_the_order_is_fixed() -> None:
    cpu = asking(capability=None, sdp="flash,math")
    assert silent(sdp_backends, Facts(torch=torch(sdp="math,cudnn,flash,efficient")), cpu)
    (finding,) = findings(sdp_backends, Facts(torch=torch(sdp="math,efficient")), cpu)
    assert "switched off: flash" in finding.message


def test_unknown_is_skipped() -> None:
    assert skipped(sdp_backends, Facts(), HOPPER)
    assert skipped(sdp_backends, Facts(torch=torch(sdp=DEFAULT)))
    assert silent(sdp_backends, Facts(torch=torch(sdp=DEFAULT)), asking())
