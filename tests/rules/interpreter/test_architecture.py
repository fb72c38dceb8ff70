import pytest

from envdoctor.facts.model import Facts, Host, Interpreter
from envdoctor.facts.pasted import read
from envdoctor.rules.interpreter.architecture import architecture
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


def made_for(platform: str, libc: str | None = "glibc 2.36", machine: str | None = None) -> Facts:
    return Facts(interpreter=Interpreter(version="3.11.7", platform=platform, libc=libc), host=Host(machine=machine))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (made_for("linux-i686"), "32-bit"),
        (made_for("win32", None), "32-bit"),
        (made_for("linux-x86_64", "musl"), "musl"),
        (made_for("macosx-11.0-x86_64", None, "arm64"), "emulator"),
    ],
)
def test_a_python_that_torch_is_not_made_for(facts: Facts, words: str) -> None:
    (finding,) = findings(architecture, facts)
    assert (finding.kind, finding.severity, finding.who) == ("python-unsupported", Severity.ERROR, "image")
    assert words in finding.message


@pytest.mark.parametrize(
    "facts",
    [
        made_for("linux-x86_64", machine="x86_64"),
        made_for("linux-aarch64", machine="aarch64"),
        made_for("win-amd64", None, "AMD64"),
        made_for("macosx-11.0-arm64", None, "arm64"),
        Facts(interpreter=Interpreter(version="3.11.7")),
    ],
)
def test_healthy(facts: Facts) -> None:
    assert silent(architecture, facts)


def test_unknown_is_skipped() -> None:
    assert skipped(architecture, Facts())


def test_a_python_that_is_translated_on_apples_processor() -> None:
    facts = read(
        "OS: macOS 15.3 (x86_64)\nPython version: 3.12.8 (64-bit runtime)\n"
        "Python platform: macOS-10.16-x86_64-i386-64bit\nIs CUDA available: False\nCPU:\nApple M2 Pro\n"
    )
    (finding,) = findings(architecture, facts)
    assert "Rosetta" in finding.message
    assert finding.who == "you"
    intel = read("Python version: 3.12.8\nPython platform: macOS-14.1-x86_64-i386-64bit\nCPU:\nIntel(R) Core(TM) i7\n")
    assert silent(architecture, intel)
