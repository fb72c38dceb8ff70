from envdoctor.facts.model import Facts, Interpreter
from envdoctor.rules.interpreter.debug_build import debug_build
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


def test_a_debug_build_is_slow() -> None:
    (finding,) = findings(debug_build, Facts(interpreter=Interpreter(version="3.12.1", debug_build=True)))
    assert (finding.kind, finding.severity) == ("interpreter", Severity.WARNING)


def test_healthy_and_unknown() -> None:
    assert silent(debug_build, Facts(interpreter=Interpreter(version="3.12.1", debug_build=False)))
    assert silent(debug_build, Facts(interpreter=Interpreter(version="3.12.1")))
    assert skipped(debug_build, Facts())
