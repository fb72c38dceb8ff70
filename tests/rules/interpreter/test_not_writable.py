from envdoctor.facts.model import Facts, Interpreter
from envdoctor.rules.interpreter.not_writable import not_writable
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, locked, silent, skipped


def test_an_environment_of_root_is_noted() -> None:
    interpreter = Interpreter(version="3.11.7", writable=False, site_packages=("/opt/env/site-packages",))
    (finding,) = findings(not_writable, Facts(interpreter=interpreter), locked())
    assert (finding.severity, finding.who) == (Severity.NOTE, "image")
    assert "/opt/env/site-packages" in finding.message
    assert finding.remedy.commands == ("uv venv .venv", "envdoctor fix --env .venv --target h100")
    (plain,) = findings(not_writable, Facts(interpreter=interpreter))
    assert plain.remedy.commands == ("uv venv .venv",)


def test_healthy_and_unknown() -> None:
    assert silent(not_writable, Facts(interpreter=Interpreter(version="3.11.7", writable=True)))
    assert silent(not_writable, Facts(interpreter=Interpreter(version="3.11.7")))
    assert skipped(not_writable, Facts())
