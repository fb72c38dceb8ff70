import pytest

from envdoctor.facts.model import Facts, Interpreter
from envdoctor.rules.interpreter.user_site import user_site
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped

HOME = "/home/me/.local/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    ("conda", "virtual", "severity"),
    [(True, False, Severity.WARNING), (False, True, Severity.WARNING), (False, False, Severity.NOTE)],
)
def test_packages_at_home_come_first(conda: bool, virtual: bool, severity: Severity) -> None:
    interpreter = Interpreter(version="3.11.7", user_site=HOME, is_conda=conda, is_virtual=virtual)
    (finding,) = findings(user_site, Facts(interpreter=interpreter))
    assert (finding.kind, finding.severity, finding.actual) == ("interpreter", severity, HOME)
    assert finding.remedy.commands == ("export PYTHONNOUSERSITE=1",)


def test_healthy_and_unknown() -> None:
    assert silent(user_site, Facts(interpreter=Interpreter(version="3.11.7", is_virtual=True)))
    assert skipped(user_site, Facts())
