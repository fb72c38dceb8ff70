from envdoctor.facts.model import Facts, Interpreter
from envdoctor.rules.interpreter.outside_paths import outside_paths
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


def path_files(*lines: str) -> Facts:
    return Facts(interpreter=Interpreter(version="3.11.7", path_files=lines))


def test_what_reaches_outside_is_noted() -> None:
    (finding,) = findings(outside_paths, path_files("/env/x.pth adds /opt/other", "/env/y.pth runs code"))
    assert finding.severity is Severity.NOTE
    assert "2 .pth entries" in finding.message


def test_what_installers_leave_is_healthy() -> None:
    expected = (
        "/env/distutils-precedence.pth runs code",
        "/env/_virtualenv.pth runs code",
        "/env/__editable__.mine-0.1.pth adds /home/me/mine",
        "/env/envdoctor-startup.pth runs code",
    )
    assert silent(outside_paths, path_files(*expected))
    assert silent(outside_paths, path_files())
    assert skipped(outside_paths, Facts())
