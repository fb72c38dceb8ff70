import pytest

from envdoctor.facts.model import Facts, Interpreter
from envdoctor.rules.interpreter.free_threaded import free_threaded
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


@pytest.mark.parametrize(("version", "severity"), [("3.13.0", Severity.WARNING), ("3.14.1", Severity.NOTE)])
def test_without_the_lock(version: str, severity: Severity) -> None:
    (finding,) = findings(free_threaded, Facts(interpreter=Interpreter(version=version, free_threaded=True)))
    assert (finding.kind, finding.severity) == ("interpreter", severity)


def test_healthy_and_unknown() -> None:
    assert silent(free_threaded, Facts(interpreter=Interpreter(version="3.13.0", free_threaded=False)))
    assert silent(free_threaded, Facts(interpreter=Interpreter(version="3.13.0")))
    assert skipped(free_threaded, Facts())
