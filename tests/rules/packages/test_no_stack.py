from dataclasses import replace

from envdoctor.facts.model import Facts, Interpreter
from envdoctor.locks.target import Target
from envdoctor.rules.packages.no_stack import no_stack
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, locked, silent, skipped

FACTS = Facts(interpreter=Interpreter(version="3.9.18"))
REFUSED = ("cu130: stack cu130 is not for this Python: requires-python >=3.10", "cu128 is not among the lockfiles")
TARGET = Target(
    name="h100", title="H100", gpu_names=("H100",), stacks=("cu130", "cu128"), no_choice="none", refused=REFUSED
)


def test_each_stack_that_does_not_fit_is_an_error_with_its_reason() -> None:
    second, first = findings(no_stack, FACTS, replace(TARGET, asked=True))  # sorted by subject
    assert (first.kind, first.subject, first.severity) == ("not-judged", "cu130", Severity.ERROR)
    assert "requires-python >=3.10" in first.message
    assert (second.subject, "not among the lockfiles" in second.message) == ("cu128", True)


def test_what_nobody_asked_for_is_no_error() -> None:
    assert skipped(no_stack, FACTS, TARGET) == "no target was asked for"


def test_a_chosen_stack_is_silent() -> None:
    assert silent(no_stack, FACTS, replace(locked(torch="2.13.0"), asked=True))


def test_a_target_of_settings_alone_has_nothing_to_fit() -> None:
    settings = Target(name="mine", title="CPU", flags={"tf32": "true"}, asked=True, no_choice="lists no stacks")
    assert skipped(no_stack, FACTS, settings) == "target mine lists no stacks"


def test_without_a_python_nothing_can_be_said() -> None:
    assert skipped(no_stack, Facts(), replace(TARGET, asked=True))
