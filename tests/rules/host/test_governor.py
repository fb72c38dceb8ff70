import pytest

from envdoctor.facts.model import Facts, Host
from envdoctor.rules.host.governor import governor
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


@pytest.mark.parametrize("word", ["powersave", "conservative"])
def test_saving_power_is_noted(word: str) -> None:
    (finding,) = findings(governor, Facts(host=Host(governor=word)))
    assert (finding.kind, finding.severity, finding.who) == ("host-limited", Severity.NOTE, "host")


@pytest.mark.parametrize("word", ["performance", "schedutil", "ondemand", None])
def test_healthy(word: str | None) -> None:
    assert silent(governor, Facts(host=Host(governor=word)))


def test_unknown_is_skipped() -> None:
    assert skipped(governor, Facts())
