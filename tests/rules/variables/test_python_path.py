import pytest

from envdoctor.facts.model import Facts, Interpreter
from envdoctor.rules.rule import Severity
from envdoctor.rules.variables.python_path import python_path
from tests.rules.judging import findings, silent, skipped

ENV = Interpreter(version="3.11.7", site_packages=("/env/lib/python3.11/site-packages",))


@pytest.mark.parametrize(
    ("variables", "subject", "severity"),
    [
        ({"PYTHONHOME": "/opt/python"}, "PYTHONHOME", Severity.WARNING),
        ({"PYTHONPATH": "/other/lib/python3.10/site-packages"}, "PYTHONPATH", Severity.WARNING),
        ({"PYTHONPATH": "/home/me/src"}, "PYTHONPATH", Severity.NOTE),
    ],
)
def test_redirected(variables: dict[str, str], subject: str, severity: Severity) -> None:
    (finding,) = findings(python_path, Facts(variables=variables, interpreter=ENV))
    assert (finding.kind, finding.subject, finding.severity) == ("interpreter", subject, severity)
    assert finding.remedy.commands == (f"unset {subject}",)


def test_healthy_and_unknown() -> None:
    assert silent(python_path, Facts(variables={"PYTHONPATH": ""}, interpreter=ENV))
    own = Facts(variables={"PYTHONPATH": "/env/lib/python3.11/site-packages"}, interpreter=ENV)
    (finding,) = findings(python_path, own)
    assert finding.severity is Severity.NOTE
    assert skipped(python_path, Facts())
