import pytest

from envdoctor.facts.model import Facts, Host, Storage
from envdoctor.rules.host.cache_directories import cache_directories
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


def place(purpose: str, *, writable: bool | None = True, noexec: bool | None = False) -> Facts:
    return Facts(host=Host(storage=(Storage(purpose=purpose, path="/cache", writable=writable, noexec=noexec),)))


@pytest.mark.parametrize(
    ("facts", "variable", "words"),
    [
        (place("triton-cache", noexec=True), "TRITON_CACHE_DIR", "is mounted noexec"),
        (place("inductor-cache", writable=False), "TORCHINDUCTOR_CACHE_DIR", "cannot be written"),
        (place("temporary", noexec=True), "TMPDIR", "is mounted noexec"),
        (place("hf-home", writable=False), "HF_HOME", "cannot be written"),
        (place("cuda-cache", writable=False), "CUDA_CACHE_PATH", "cannot be written"),
    ],
)
def test_a_cache_that_does_not_work(facts: Facts, variable: str, words: str) -> None:
    (finding,) = findings(cache_directories, facts)
    assert (finding.kind, finding.subject, finding.severity) == ("host-limited", variable, Severity.WARNING)
    assert words in finding.message
    assert finding.remedy.commands[0].startswith(f"export {variable}=")


@pytest.mark.parametrize(
    "line",
    [
        "ImportError: /tmp/triton/x.so: failed to map segment from shared object /tmp/triton",
        "PermissionError: [Errno 13] Permission denied: '/root/.cache/huggingface'",
    ],
)
def test_the_line_of_a_report(line: str) -> None:
    (finding,) = findings(cache_directories, Facts(messages=(line,)))
    assert finding.severity is Severity.ERROR


@pytest.mark.parametrize(
    "facts",
    [
        place("triton-cache"),
        place("hf-home", noexec=True),  # nothing is executed there
        place("working-directory", writable=False),
        place("triton-cache", writable=None, noexec=None),
    ],
)
def test_healthy(facts: Facts) -> None:
    assert silent(cache_directories, facts)


def test_unknown_is_skipped() -> None:
    assert skipped(cache_directories, Facts(host=Host()))
    assert skipped(cache_directories, Facts())
