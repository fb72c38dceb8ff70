"""The lock: who holds it is what the kernel says, not what the last holder wrote down."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from envdoctor.change.lock import hold_lock
from envdoctor.change.places import places
from envdoctor.errors import Trouble
from tests.change.conftest import World, fix_words, write_target
from tests.change.faults import has_strace

ROOT = Path(__file__).parents[2]
NOBODY = "4194304 1\n"  # one above the highest process id that Linux gives (PID_MAX_LIMIT)
TAKES = (
    "import fcntl, os, sys, time\n"
    "lock = os.open(sys.argv[1], os.O_RDWR); fcntl.flock(lock, fcntl.LOCK_EX); print(os.getpid(), flush=True)\n"
)


@contextmanager
def _held(control: Path, then: str = "time.sleep(60)") -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The lock taken by a process that has not signed it yet: what the file says is of somebody before it."""
    control.mkdir()
    (control / "lock").write_text(NOBODY)
    process = subprocess.Popen(
        [sys.executable, "-c", TAKES + then, str(control / "lock")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process, int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def test_one_that_has_not_signed_yet_is_named_and_left_alone(tmp_path: Path) -> None:
    with _held(tmp_path / "control") as (process, number):
        with pytest.raises(Trouble, match=rf"another envdoctor \(process {number}\)"), hold_lock(tmp_path / "control"):
            pass
        assert process.poll() is None


def test_the_one_before_who_still_runs_is_not_blamed(tmp_path: Path) -> None:
    """It has let go of the lock, and prints its report; somebody else has taken it."""
    with _held(tmp_path / "control") as (_, number):
        started = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[19]
        (tmp_path / "control" / "lock").write_text(f"{os.getppid()} {started}\n")
        with pytest.raises(Trouble, match=rf"another envdoctor \(process {number}\)"), hold_lock(tmp_path / "control"):
            pass


def test_an_installer_whose_envdoctor_lives_is_left_alone(tmp_path: Path) -> None:
    """A second look finds the lock with two processes: the one that took it, and the installer it was handed to."""
    child = "import subprocess; print(subprocess.Popen(['sleep', '60'], pass_fds=(lock,)).pid, flush=True)\n"
    with _held(tmp_path / "control", child + "time.sleep(60)") as (process, _):
        assert process.stdout is not None
        installer = int(process.stdout.readline())
        try:
            with pytest.raises(Trouble, match="another envdoctor"), hold_lock(tmp_path / "control"):
                pass
            assert Path(f"/proc/{installer}/exe").exists()
        finally:
            os.kill(installer, signal.SIGKILL)


def test_a_second_one_in_the_same_process_is_refused(tmp_path: Path) -> None:
    """Two threads of a program that uses envdoctor: neither waits for itself, or ends the other's installer."""
    with hold_lock(tmp_path / "control") as lock:
        installer = subprocess.Popen(["sleep", "60"], pass_fds=(lock,))
        try:
            refused = pytest.raises(Trouble, match=rf"another envdoctor \(process {os.getpid()}\)")
            with refused, hold_lock(tmp_path / "control"):
                pass
            assert installer.poll() is None
        finally:
            installer.kill()
            installer.wait()


def test_an_installer_whose_envdoctor_is_gone_is_ended(tmp_path: Path) -> None:
    orphan = "import subprocess; print(subprocess.Popen(['sleep', '60'], pass_fds=(lock,), stderr=-3).pid, flush=True)"
    with _held(tmp_path / "control", orphan) as (process, _):
        assert process.stdout is not None
        installer = int(process.stdout.readline())
        process.wait()
        with hold_lock(tmp_path / "control"):
            pass
        assert not Path(f"/proc/{installer}/exe").exists()


def test_a_program_that_is_being_started_as_the_lock_is_let_go_of_is_left_alone(tmp_path: Path) -> None:
    """Between fork and exec it has all that its parent had open. Such a one was killed, and had done nothing."""
    control = tmp_path / "control"
    starting = "pid = os.fork()\nif not pid: os.setsid(); time.sleep(1.5); os.close(lock); time.sleep(60)\n"
    with _held(control, starting + "os.close(lock); print(pid, flush=True); time.sleep(60)") as (process, _):
        assert process.stdout is not None
        program = int(process.stdout.readline())
        try:
            with hold_lock(control):
                assert Path(f"/proc/{program}/exe").exists()
                assert (control / "lock").read_text().split()[0] == str(os.getpid())
        finally:
            os.kill(program, signal.SIGKILL)


def test_a_program_that_we_start_as_we_let_go_of_the_lock_is_left_alone(tmp_path: Path) -> None:
    """One thread changes environments, another starts programs."""
    control, over = tmp_path / "control", threading.Event()
    control.mkdir()
    (control / "journal").write_text("")

    def change() -> None:
        while not over.is_set():
            with hold_lock(control):
                pass

    thread = threading.Thread(target=change)
    thread.start()
    try:
        codes = {subprocess.run(["true"], preexec_fn=_slow_start).returncode for _ in range(40)}
    finally:
        over.set()
        thread.join()
    assert codes == {0}


def _slow_start() -> None:
    time.sleep(0.01)


@pytest.mark.skipif(not has_strace(), reason="strace is not installed")
def test_a_second_one_between_taking_and_signing(world: World) -> None:
    """A real `fix` is stopped as it returns from flock(2); the next one names it, and it goes on to its end."""
    control = places(world.environment).control
    control.mkdir(mode=0o700)
    (control / "lock").write_text(NOBODY)
    words = fix_words(write_target(world, world.environment.parent / "locks"), world.environment)
    fix = [sys.executable, "-m", "tests.change.driver", *words]
    stop = (
        "strace",
        "-qq",
        "-o",
        os.devnull,
        "-P",
        str(control / "lock"),
        "-e",
        "trace=flock",
        "-e",
        "inject=flock:signal=SIGSTOP:when=1",
    )
    first = subprocess.Popen([*stop, *fix], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        number = _holder(first.pid, control / "lock")
        second = subprocess.run(fix, cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert (control / "lock").read_text() == NOBODY
        os.kill(number, signal.SIGCONT)
        said, _ = first.communicate(timeout=120)
    finally:
        for each in (number, first.pid):
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
    assert second.returncode == 3, second.stderr
    assert f"another envdoctor (process {number})" in second.stderr
    assert first.returncode == 0, said
    assert world.version("alpha") == "2.0"


def _holder(tracer: int, lock: Path) -> int:
    """The process that a strace runs, once it has taken this lock."""
    inode, last = lock.stat().st_ino, time.monotonic() + 120
    while time.monotonic() < last:
        for child in Path(f"/proc/{tracer}/task/{tracer}/children").read_text().split():
            lines = Path("/proc/locks").read_text().splitlines()
            if any(f"FLOCK  ADVISORY  WRITE {child} " in line and f":{inode} " in line for line in lines):
                return int(child)
        time.sleep(0.05)
    raise AssertionError("it took no lock")
