from envdoctor.facts.model import Facts, Interpreter
from envdoctor.rules.interpreter.externally_managed import externally_managed
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


def test_the_systems_python_is_noted() -> None:
    interpreter = Interpreter(version="3.11.2", executable="/usr/bin/python3", externally_managed=True)
    (finding,) = findings(externally_managed, Facts(interpreter=interpreter))
    assert (finding.severity, finding.actual) == (Severity.NOTE, "/usr/bin/python3")


def test_a_virtual_environment_on_top_of_it_is_healthy() -> None:
    inside = Interpreter(version="3.11.2", externally_managed=True, is_virtual=True)
    assert silent(externally_managed, Facts(interpreter=inside))
    assert silent(externally_managed, Facts(interpreter=Interpreter(version="3.11.2")))
    assert skipped(externally_managed, Facts())
