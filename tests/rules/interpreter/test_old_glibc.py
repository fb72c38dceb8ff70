import pytest

from envdoctor.facts.model import Facts, Interpreter
from envdoctor.facts.pasted import read
from envdoctor.locks.target import Target
from envdoctor.rules.interpreter.old_glibc import old_glibc
from envdoctor.rules.rule import Severity
from tests.rules.judging import NOTHING, findings, locked, silent, skipped


def libc(text: str | None) -> Facts:
    return Facts(interpreter=Interpreter(version="3.11.7", libc=text))


@pytest.mark.parametrize(
    ("target", "severity"),
    [
        (locked(torch="2.13.0"), Severity.ERROR),
        (Target(name="h100", title="H100", capability="9.0"), Severity.ERROR),
        (NOTHING, Severity.NOTE),
    ],
)
def test_too_old_for_the_wheels(target: Target, severity: Severity) -> None:
    (finding,) = findings(old_glibc, libc("glibc 2.27"), target)
    assert (finding.kind, finding.severity, finding.who) == ("python-unsupported", severity, "image")
    assert "2.28" in finding.expected


def test_healthy_and_unknown() -> None:
    assert silent(old_glibc, libc("glibc 2.27"), locked(torch="2.5.1"))
    for text in ("glibc 2.28", "glibc 2.36", "musl", None):
        assert silent(old_glibc, libc(text), locked(torch="2.13.0"))
    assert skipped(old_glibc, Facts())


def test_the_tag_that_uv_names_is_the_systems() -> None:
    facts = read(
        "Using Python 3.11.13 environment at: /env\n"
        "  × No solution found when resolving dependencies:\n"
        "      and torch==2.7.0+cu118 has no wheels with a matching platform tag (e.g., `manylinux_2_27_x86_64`), we "
        "can conclude that torch==2.7.0 cannot be used.\n"
    )
    (finding,) = findings(old_glibc, facts)
    assert (finding.severity, finding.actual) == (Severity.ERROR, "glibc 2.27")
