import pytest

from envdoctor.facts.model import Facts, Host
from envdoctor.rules.host.shared_memory import shared_memory
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped
from tests.rules.told import root, whole

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


SEGMENT = "Error while creating shared memory segment /dev/shm/nccl-Ab3dEf (size 9637888)"


def test_a_segment_of_nccl_in_a_pod_has_neither_workers_nor_docker() -> None:
    found = root(
        "kubectl logs trainer-0", "ncclSystemError: System call failed", "Last error:", SEGMENT, "shm  64M  0  64M"
    )
    said = whole(found)
    assert "df shows 64M" in found.message
    assert SEGMENT in found.message
    assert "emptyDir" in said
    assert not any(word in said for word in ("num_workers", "sharing_strategy", "docker run"))


def test_a_segment_of_nccl_elsewhere_is_docker_s() -> None:
    said = whole(root("ncclSystemError: System call failed", "Last error:", SEGMENT))
    assert "docker run --shm-size=8g IMAGE" in said
    assert "num_workers" not in said


def test_a_loader_s_memory_in_a_pod_has_workers_still() -> None:
    said = whole(root("The pod stops:", "RuntimeError: unable to write to file </torch_77_123_0>: No space left"))
    assert "num_workers=0" in said
    assert "docker run" not in said


@pytest.mark.parametrize(
    "line",
    [
        "box:88:91 [1] include/shm.h:27 NCCL WARN Call to shm_open failed : Permission denied",
        "RuntimeError: unable to open shared memory object </torch_77_5> in read-write mode: Permission denied (13)",
        "PermissionError: [Errno 13] Permission denied: '/dev/shm/nccl-Zz9'",
    ],
)
def test_who_is_refused_lacks_no_room(line: str) -> None:
    segment = "box:88:91 [1] include/shm.h:48 NCCL WARN Error while creating shared memory segment nccl-shm-1 (size 9)"
    found = root(line, segment)
    assert "no lack of room" in found.message
    assert "sudo chmod 1777 /dev/shm" in found.remedy.commands
    assert not any(word in whole(found) for word in ("512 MiB", "--shm-size", "size=8G"))


def test_a_mount_without_writing_is_named_as_one() -> None:
    (found,) = findings(shared_memory, Facts(messages=("OSError: could not make /dev/shm/x: Read-only file system",)))
    assert "(read-only file system)" in found.message
    assert found.expected == "mounted for writing"
