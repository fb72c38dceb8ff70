import pytest

from envdoctor.facts.model import Facts, Host, Storage
from envdoctor.rules.host.disk_space import disk_space
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped

MIB, GIB = 1 << 20, 1 << 30


def disk(free: int | None = 100 * GIB, purpose: str = "hf-home", inodes: int | None = None, **more: object) -> Storage:
    return Storage(purpose=purpose, path=f"/{purpose}", free=free, free_inodes=inodes, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("place", "severity", "actual"),
    [
        (disk(100 * MIB), Severity.ERROR, "100 MiB"),
        (disk(0, "temporary"), Severity.ERROR, "0 MiB"),
        (disk(1 * GIB), Severity.WARNING, "1 GiB"),
        (disk(300 * MIB, "temporary"), Severity.WARNING, "300 MiB"),
        (disk(inodes=0), Severity.ERROR, "0 inodes"),
        (disk(inodes=10), Severity.WARNING, "10 inodes"),
    ],
)
def test_nearly_full(place: Storage, severity: Severity, actual: str) -> None:
    (finding,) = findings(disk_space, Facts(host=Host(storage=(place,))))
    assert (finding.kind, finding.severity, finding.actual) == ("host-limited", severity, actual)


def test_places_on_one_disk_are_named_together() -> None:
    storage = (disk(1 * GIB, "environment"), disk(1 * GIB, "hf-home"), disk(200 * GIB, "temporary"))
    (finding,) = findings(disk_space, Facts(host=Host(storage=storage)))
    assert "environment, hf-home" in finding.message


def test_the_line_of_a_report() -> None:
    (finding,) = findings(disk_space, Facts(messages=("OSError: [Errno 28] No space left on device",)))
    assert finding.severity is Severity.ERROR


def test_a_quota_is_no_full_disk() -> None:
    assert skipped(disk_space, Facts(messages=("OSError: [Errno 122] Disk quota exceeded",)))


@pytest.mark.parametrize(
    "place", [disk(50 * GIB), disk(1 * GIB, "temporary"), disk(None), disk(0, writable=False), disk(inodes=5000)]
)
def test_room_enough_or_not_known(place: Storage) -> None:
    assert silent(disk_space, Facts(host=Host(storage=(place,))))


def test_unknown_is_skipped() -> None:
    assert skipped(disk_space, Facts(host=Host()))
    assert skipped(disk_space, Facts())
    line = "No space left on device: '/dev/shm/torch_1'"
    assert skipped(disk_space, Facts(messages=(line,)))


def test_a_disk_that_pip_fills_is_most_often_the_one_of_temporary_files() -> None:
    line = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
    (finding,) = findings(disk_space, Facts(messages=(line,)))
    assert "Usually it is /tmp" in finding.message
    assert "export TMPDIR=/PATH/ON/A/LARGER/DISK/tmp" in finding.remedy.commands


@pytest.mark.parametrize(
    "beside", ['File "/v/lib/python3.11/site-packages/pip/_internal/cli/req_command.py", line 9', "/tmp/pip-unpack-x7"]
)
def test_pips_frames_tell_that_pip_writes(beside: str) -> None:
    (finding,) = findings(disk_space, Facts(messages=("OSError: [Errno 28] No space left on device", beside)))
    assert finding.title == "A disk that pip writes to is full"


def test_a_small_temporary_folder_is_got_round_for_any_program() -> None:
    (finding,) = findings(disk_space, Facts(messages=("OSError: [Errno 28] No space left on device",)))
    assert any("TMPDIR=" in command for command in finding.remedy.commands)
