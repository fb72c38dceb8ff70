import pytest

from envdoctor.facts.model import Facts, Interpreter, Origin
from envdoctor.rules.interpreter.end_of_life import end_of_life
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


def python(version: str, day: str | None = None) -> Facts:
    return Facts(interpreter=Interpreter(version=version), origin=Origin(collected=day))


@pytest.mark.parametrize(
    ("facts", "day"),
    [
        (python("3.8.18"), "2024-10-07"),
        (python("3.6.4"), "2021-12-23"),
        (python("3.10.13", "2026-11-20T10:00:00+00:00"), "2026-10-31"),
        (python("2.7.18"), "a past day"),
    ],
)
def test_a_python_past_its_last_day_is_noted(facts: Facts, day: str) -> None:
    (finding,) = findings(end_of_life, facts)
    assert (finding.kind, finding.severity) == ("interpreter", Severity.NOTE)
    assert day in finding.message


@pytest.mark.parametrize(
    "facts",
    [python("3.12.1"), python("3.10.13", "2026-05-01"), python("3.10.13"), python("3.20.0"), python("3.11.7+gc", "x")],
)
def test_maintained_pythons(facts: Facts) -> None:
    assert silent(end_of_life, facts)


def test_unknown_is_skipped() -> None:
    assert skipped(end_of_life, Facts())
