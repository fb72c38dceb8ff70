import pytest

from envdoctor.facts.model import Facts, Gpu, Gpus, Host
from envdoctor.rules.host.memory import memory
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped

GIB = 1 << 30
TWO_H100 = Gpus(devices=tuple(Gpu(index=n, name="NVIDIA H100", memory=80 * GIB) for n in range(2)))


@pytest.mark.parametrize(
    ("facts", "severity", "words"),
    [
        (Facts(host=Host(memory=16 * GIB, memory_available=1 * GIB)), Severity.WARNING, "Only 1 GiB"),
        (Facts(host=Host(memory=128 * GIB, memory_available=90 * GIB), gpus=TWO_H100), Severity.NOTE, "160 GiB"),
        (Facts(host=Host(memory=512 * GIB, memory_limit=64 * GIB)), Severity.NOTE, "killed beyond 64 GiB"),
        (Facts(messages=("Out of memory: Killed process 4242 (python)",)), Severity.ERROR, "Killed process"),
        (
            Facts(messages=("worker (pid 3) is killed by signal: Killed.",)),
            Severity.ERROR,
            "killed from outside",
        ),
        (
            Facts(messages=("srun: error: gpu-3: task 0: Out Of Memory",)),
            Severity.ERROR,
            "killed for lack of memory",
        ),
        (
            Facts(messages=("slurmstepd: error: Detected 1 oom_kill event in StepId=7.batch.",)),
            Severity.ERROR,
            "killed for lack of memory",
        ),
    ],
)
def test_scarce_or_limited(facts: Facts, severity: Severity, words: str) -> None:
    (finding,) = findings(memory, facts)
    who = "you" if severity is Severity.ERROR else "host"  # of a run that was killed less may be asked for
    assert (finding.kind, finding.severity, finding.who) == ("host-limited", severity, who)
    assert words in finding.message


@pytest.mark.parametrize(
    "host",
    [
        Host(memory=64 * GIB, memory_available=50 * GIB),
        Host(memory=64 * GIB, memory_limit=60 * GIB),
        Host(memory=8 * GIB),
    ],
)
def test_enough(host: Host) -> None:
    assert silent(memory, Facts(host=host))


def test_unknown_is_skipped() -> None:
    assert skipped(memory, Facts(host=Host(memory_available=1)))
    assert skipped(memory, Facts())


def test_the_kernels_log_says_why_a_process_was_killed() -> None:
    log = "[300974.2] Out of memory: Killed process 336943 (python) total-vm:20061840kB"
    (finding,) = findings(memory, Facts(messages=("Killed", log)))
    assert finding.message == "A process was killed for lack of memory: Killed."
    (finding,) = findings(memory, Facts(messages=("Killed",)))
    assert "from outside" in finding.message
