import pytest

from envdoctor.facts.model import Facts, Interpreter
from envdoctor.rules.interpreter.shadowed_modules import shadowed_modules
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


@pytest.mark.parametrize(
    ("path", "module"),
    [("/home/me/timeit.py", "timeit"), ("/me/datasets/", "datasets"), ("C:\\x\\random.py", "random")],
)
def test_a_file_that_hides_a_module(path: str, module: str) -> None:
    (finding,) = findings(shadowed_modules, Facts(interpreter=Interpreter(version="3.11.7", shadowed=(path,))))
    assert (finding.kind, finding.subject, finding.severity) == ("interpreter", module, Severity.ERROR)
    assert "torch/" in finding.explains


@pytest.mark.parametrize(
    ("line", "module"),
    [
        ("cannot import name 'x' from partially initialized module 'datasets' (most likely circular)", "datasets"),
        ("consider renaming since it has the same name as the standard library module named 'random'", "random"),
    ],
)
def test_the_line_of_a_report(line: str, module: str) -> None:
    (finding,) = findings(shadowed_modules, Facts(messages=(line,)))
    assert finding.subject == module


def test_healthy_and_unknown() -> None:
    assert silent(shadowed_modules, Facts(interpreter=Interpreter(version="3.11.7")))
    assert skipped(shadowed_modules, Facts())
