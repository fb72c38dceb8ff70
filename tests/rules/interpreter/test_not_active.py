from envdoctor.facts.model import Facts, Interpreter
from envdoctor.rules.interpreter.not_active import not_active
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


def test_another_environment_is_active() -> None:
    interpreter = Interpreter(version="3.11.7", prefix="/a/.venv", active_environment="/b/.venv")
    (finding,) = findings(not_active, Facts(interpreter=interpreter))
    assert (finding.severity, finding.actual, finding.expected) == (Severity.NOTE, "/b/.venv", "/a/.venv")
    assert finding.remedy.commands == ("source /a/.venv/bin/activate",)


def test_healthy_and_unknown() -> None:
    same = Interpreter(version="3.11.7", prefix="/a/.venv", active_environment="/a/.venv/")
    assert silent(not_active, Facts(interpreter=same))
    assert silent(not_active, Facts(interpreter=Interpreter(version="3.11.7", prefix="/a")))
    assert skipped(not_active, Facts())
