import pytest

from envdoctor.facts.model import Facts, Host
from envdoctor.rules.host.shared_memory import shared_memory
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped

BUS = (
    "RuntimeError: DataLoader worker (pid 37) is killed by signal: Bus error. "
    "It is possible that dataloader's workers are out of shared memory."
)


@pytest.mark.parametrize(
    ("given", "severity", "actual"),
    [
        (Facts(host=Host(shm=64 << 20)), Severity.WARNING, "64 MiB"),
        (Facts(host=Host(shm=(512 << 20) - 1)), Severity.WARNING, "511 MiB"),
        (Facts(messages=(BUS,)), Severity.ERROR, BUS),
        (Facts(host=Host(shm=64 << 20), messages=(BUS,)), Severity.ERROR, "64 MiB"),
    ],
)
def test_too_small(given: Facts, severity: Severity, actual: str) -> None:
    (finding,) = findings(shared_memory, given)
    assert (finding.kind, finding.severity, finding.who) == ("shm-too-small", severity, "image")
    assert finding.actual == actual
    assert finding.remedy.commands[0] == "docker run --shm-size=8g IMAGE"


@pytest.mark.parametrize("size", [512 << 20, 24 << 30])
def test_large_enough(size: int) -> None:
    assert silent(shared_memory, Facts(host=Host(shm=size)))


def test_unknown_is_skipped() -> None:
    assert skipped(shared_memory, Facts(host=Host()))
    assert skipped(shared_memory, Facts())


def test_a_heading_does_not_hide_the_line_below_it() -> None:
    (found,) = findings(shared_memory, Facts(messages=("# out of shared memory", BUS)))
    assert BUS in found.message
    assert silent(shared_memory, Facts(host=Host(shm=1 << 30), messages=("ERROR:  out of shared memory",)))
