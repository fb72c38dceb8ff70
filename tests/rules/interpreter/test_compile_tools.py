import pytest

from envdoctor.facts.model import Facts, Host, Interpreter
from envdoctor.rules.interpreter.compile_tools import compile_tools
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped

HEADERS = Interpreter(version="3.11.7", headers="/usr/include/python3.11/Python.h")
BARE = Interpreter(version="3.11.7", headers="")


@pytest.mark.parametrize(
    ("facts", "missing"),
    [
        (Facts(interpreter=HEADERS, host=Host(compiler="")), "no C compiler"),
        (Facts(interpreter=BARE, host=Host(compiler="gcc 12.2.0")), "no Python.h"),
        (Facts(interpreter=BARE, host=Host(compiler="")), "no C compiler and no Python.h"),
    ],
)
def test_what_is_missing_is_noted(facts: Facts, missing: str) -> None:
    (finding,) = findings(compile_tools, facts)
    assert (finding.kind, finding.severity, finding.actual) == ("interpreter", Severity.NOTE, missing)
    assert finding.remedy.commands == ("apt-get install -y build-essential python3.11-dev",)


@pytest.mark.parametrize(
    "line",
    [
        "fatal error: Python.h: No such file or directory",
        "RuntimeError: Failed to find C compiler.",
        "InvalidCxxCompiler",
    ],
)
def test_where_it_stopped_a_run_it_is_an_error(line: str) -> None:
    (finding,) = findings(compile_tools, Facts(messages=(line,)))
    assert finding.severity is Severity.ERROR


def test_a_compiler_that_misses_a_header_is_there() -> None:
    line = "/tmp/x/launcher.c:2:10: fatal error: Python.h: No such file or directory"
    (finding,) = findings(compile_tools, Facts(messages=(line,), interpreter=Interpreter(version="3.10.2")))
    assert "compiler" not in finding.message
    assert finding.remedy.commands == ("apt-get install -y python3.10-dev",)


@pytest.mark.parametrize(("uid", "who"), [(0, "you"), (1000, "image"), (None, "image")])
def test_who_may_install(uid: int | None, who: str) -> None:
    (finding,) = findings(compile_tools, Facts(interpreter=BARE, host=Host(uid=uid)))
    assert finding.who == who


def test_healthy_and_unknown() -> None:
    assert silent(compile_tools, Facts(interpreter=HEADERS, host=Host(compiler="gcc 12.2.0")))
    assert skipped(compile_tools, Facts(interpreter=Interpreter(version="3.11.7"), host=Host()))
    assert skipped(compile_tools, Facts())
