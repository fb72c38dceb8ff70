"""What a rule is made of: what its decorator says of every finding, and what a finding may say otherwise."""

from __future__ import annotations

import pytest

from envdoctor.facts.model import Facts, Host, Unavailable
from envdoctor.locks.target import Target
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.rule import NOTE, WARNING, Findings, Skip, finding, need, rule
from tests.rules.judging import NOTHING


@rule(WARNING, kind="host-limited", subject="governor", expected="performance", who="host")
def plain(facts: Facts) -> Findings:
    """The governor saves power.

    Why: it is slow.
    Source: the kernel
    """
    yield finding(actual=need(need(facts.host).governor, "the governor is not known"), message="m", fix="f", run="true")


@rule(WARNING, kind="host-limited", subject="governor", expected="performance", who="host")
def differing(facts: Facts, target: Target) -> Findings:
    """Says everything itself."""
    yield finding(
        kind="interpreter",
        subject=target.name,
        actual="a",
        expected="b",
        message="m",
        fix="f",
        run=("one", "two"),
        who="you",
        severity=NOTE,
        source="s",
    )


def test_what_a_finding_leaves_out_its_rule_says() -> None:
    (found,) = diagnose(Facts(host=Host(governor="powersave")), NOTHING, [plain]).findings
    assert (found.kind, found.subject, found.actual, found.expected) == (
        "host-limited",
        "governor",
        "powersave",
        "performance",
    )
    assert (found.who, found.severity, found.source) == ("host", WARNING, "the kernel")
    assert (found.remedy.text, found.remedy.commands) == ("f", ("true",))


def test_what_a_finding_says_holds() -> None:
    (found,) = diagnose(Facts(), NOTHING, [differing]).findings
    assert (found.kind, found.subject, found.expected) == ("interpreter", NOTHING.name, "b")
    assert (found.who, found.severity, found.source) == ("you", NOTE, "s")
    assert found.remedy.commands == ("one", "two")


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        (Unavailable(reason="the host was not looked at"), "the host was not looked at"),
        (Host(), "the governor is not known"),
    ],
)
def test_what_is_needed_and_absent_skips_with_its_reason(host: Host | Unavailable, reason: str) -> None:
    (skipped,) = diagnose(Facts(host=host), NOTHING, [plain]).skipped
    assert skipped.reason == reason


def test_need_gives_back_what_is_there() -> None:
    assert need(0, "a zero is an answer") == 0
    with pytest.raises(Skip, match="not known"):
        need(None, "not known")


def test_a_finding_without_a_kind_is_its_rules_fault() -> None:
    @rule(WARNING)
    def kindless(facts: Facts) -> Findings:
        """Forgot what kind of cause it is."""
        yield finding(actual="a", message="m", fix="f")

    (crashed,) = diagnose(Facts(), NOTHING, [kindless]).crashed
    assert "unknown kind ''" in crashed.error
