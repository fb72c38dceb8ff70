import pytest

from envdoctor.facts.model import Facts, Host
from envdoctor.rules.host.open_files import open_files
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped

ERROR = "OSError: [Errno 24] Too many open files"


@pytest.mark.parametrize(
    ("given", "severity", "who", "command"),
    [
        (Facts(host=Host(files_soft=1024, files_hard=524288)), Severity.NOTE, "you", "ulimit -n 65536"),
        (Facts(host=Host(files_soft=1024, files_hard=8192)), Severity.NOTE, "you", "ulimit -n 8192"),
        (Facts(host=Host(files_soft=1024, files_hard=-1)), Severity.NOTE, "you", "ulimit -n 65536"),
        (
            Facts(host=Host(files_soft=1024, files_hard=1024)),
            Severity.NOTE,
            "image",
            "docker run --ulimit nofile=65536:65536 IMAGE",
        ),
        (Facts(messages=(ERROR,)), Severity.ERROR, "you", "ulimit -n 65536"),
        (Facts(messages=("RuntimeError: received 0 items of ancdata",)), Severity.ERROR, "you", "ulimit -n 65536"),
    ],
)
def test_low_or_reached(given: Facts, severity: Severity, who: str, command: str) -> None:
    (finding,) = findings(open_files, given)
    assert (finding.kind, finding.severity, finding.who) == ("file-limit", severity, who)
    assert finding.remedy.commands == (command,)


@pytest.mark.parametrize("soft", [4096, 20000, -1])
def test_high_enough(soft: int) -> None:
    assert silent(open_files, Facts(host=Host(files_soft=soft)))


def test_unknown_is_skipped() -> None:
    assert skipped(open_files, Facts(host=Host()))
    assert skipped(open_files, Facts())
