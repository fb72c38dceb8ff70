"""One change at a time: an exclusive `flock` on a file in the journal's folder.

The lock is handed to every installer that is started, so it stays taken while one of them still runs after its
envdoctor was killed. Such an orphan works on a clone that nobody wants any more; it is ended, not waited for. Who is
an orphan is asked of the kernel: between taking the lock and signing it, the file names somebody else. A child whose
taker lives is none: any program that a thread starts has every descriptor of its parent until it is executed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from envdoctor.errors import Trouble

_ORPHAN_SECONDS = 10.0  # how long a killed orphan may take to disappear


@contextlib.contextmanager
def hold_lock(control: Path) -> Iterator[int]:
    """Hold the lock of an environment; yields the descriptor to hand to children.

    Raises `Trouble` (exit code 3) when another envdoctor holds it, or when its folder cannot be written.
    """
    path = control / "lock"
    descriptor = _open(control)
    try:
        while True:
            _take(descriptor, path)
            if path.exists() and os.path.samestat(os.fstat(descriptor), path.stat()):
                break
            os.close(descriptor)  # its last holder had nothing to keep and has removed the folder
            descriptor = _open(control)
        _sign(descriptor, path)
        try:
            yield descriptor
        finally:
            _tidy(control)
    finally:
        os.close(descriptor)


def _sign(descriptor: int, path: Path) -> None:
    """Write down who holds the lock, for the one who finds it taken."""
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {_start_time(os.getpid())}\n".encode(), 0)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise Trouble(
            f"cannot be written: {error.strerror}",
            file=path,
            remedy="Free some space." if full else "Check that its file system can be written.",
            exit_code=3,
        ) from error


def _open(control: Path) -> int:
    try:
        while True:
            control.mkdir(mode=0o700, exist_ok=True)
            _require_trusted(control)
            with contextlib.suppress(FileNotFoundError):  # removed by the last holder between the two calls
                descriptor = os.open(control / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
                (control / ".gitignore").write_text("*\n")
                return descriptor
    except OSError as error:
        raise Trouble(
            f"cannot be written: {error.strerror}",
            file=control,
            remedy=f"Make {control.parent} writable for you, or make a new environment elsewhere: "
            "envdoctor fix --env NEWPATH",
            exit_code=3,
        ) from error


def _require_trusted(control: Path) -> None:
    """Where everybody may write beside the environment, somebody else may have made the folder first: what its journal
    says would lead `undo` to a state of theirs."""
    status = control.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise Trouble(
            "is not a folder", file=control, remedy="Find out who has put it there, and remove it.", exit_code=3
        )
    if hasattr(os, "geteuid") and status.st_uid not in (os.geteuid(), 0, control.parent.stat().st_uid):
        raise Trouble(
            f"belongs to user {status.st_uid}, who could have put any state into it",
            file=control,
            remedy="Run it as that user, if the environment is theirs; else remove the folder.",
            exit_code=3,
        )


def _tidy(control: Path) -> None:
    """Remove the folder when nothing was recorded in it."""
    with contextlib.suppress(OSError):
        if set(os.listdir(control)) <= {"lock", ".gitignore"}:
            (control / ".gitignore").unlink(missing_ok=True)
            (control / "lock").unlink()
            control.rmdir()


def _take(descriptor: int, path: Path) -> None:
    import fcntl  # not on Windows, where environments are not changed but this module must load

    give_up = time.monotonic() + _ORPHAN_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EINTR):
                raise Trouble(
                    f"cannot be locked: {error.strerror}",
                    file=path,
                    remedy="Keep the environment on a file system that supports flock.",
                    exit_code=3,
                ) from error
        holding = _holders(descriptor)
        if (process := _taker(descriptor, holding)) is not None:
            raise Trouble(
                f"another envdoctor (process {process}) is changing this environment",
                file=path,
                remedy="Wait until it has ended.",
                exit_code=3,
            )
        if time.monotonic() > give_up:
            raise Trouble(
                "is held by a process that does not end", file=path, remedy="See: fuser -v LOCKFILE", exit_code=3
            )
        for orphan in _orphans(descriptor, holding):
            with contextlib.suppress(OSError):
                os.kill(orphan, signal.SIGKILL)
        time.sleep(0.02)


def _taker(descriptor: int, holding: Mapping[int, int]) -> int | None:
    """The process that took the lock, if it lives.

    What it wrote into the file tells only where the kernel shows nobody that has it: under another user, in another
    container, without a /proc. The file may still name the one before, who may be dead, or alive and done.
    """
    if holding:
        return next((process for process, taker in holding.items() if process == taker), None)
    owner = _owner(descriptor)
    return owner[0] if owner is not None and _alive(*owner) else None


def _orphans(descriptor: int, holding: Mapping[int, int]) -> Iterator[int]:
    """The holders whose taker has ended. One that lives may have let go of the lock just as a thread of its started
    some program, which has it for an instant, and is not ours to kill."""
    signed = _owner(descriptor)
    for process, taker in holding.items():
        started = _start_time(taker)
        if started == "gone" or (signed is not None and signed[0] == taker and signed[1] != started):
            yield process


def _owner(descriptor: int) -> tuple[int, str] | None:
    """Process id and start time of whoever took the lock last; None in the instant before it is written."""
    words = os.pread(descriptor, 100, 0).split()
    if len(words) != 2 or not words[0].isdigit():
        return None
    return int(words[0]), words[1].decode()


def _start_time(process: int) -> str:
    """Start time of a process in clock ticks (field 22 of /proc/PID/stat): with it, a process id is unique."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return "gone"
    return "gone" if fields[0] in "ZX" else fields[19]


def _alive(process: int, started: str) -> bool:
    if process == os.getpid():
        return False
    if started != "gone":
        return _start_time(process) == started
    try:  # written where there is no /proc
        os.kill(process, 0)
    except OSError as error:
        return error.errno == errno.EPERM
    return True


def _holders(descriptor: int) -> dict[int, int]:
    """The processes that have the lock on this open file's inode, each with the process that took it, if it is known.

    ``/proc/PID/fdinfo/FD`` lists the locks held through a descriptor (proc_pid_fdinfo(5)), and who took each; another
    envdoctor that has merely opened the file in order to wait for it has none. A child that was handed the descriptor
    has its parent's.
    """
    found: dict[int, int] = {}
    wanted = os.fstat(descriptor)
    try:
        processes = list(os.scandir("/proc"))
    except OSError:
        return found
    for entry in processes:
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            for link in os.scandir(f"/proc/{entry.name}/fd"):
                if not os.path.samestat(os.stat(link.path), wanted):
                    continue
                for line in Path(f"/proc/{entry.name}/fdinfo/{link.name}").read_text().splitlines():
                    if line.startswith("lock:") and "FLOCK" in line:  # lock:  1: FLOCK  ADVISORY  WRITE 4711 ...
                        found[int(entry.name)] = int(line.split()[5])
    return found
