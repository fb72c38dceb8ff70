"""Temporary folders that only this user may enter, and that outlive nobody: a later command removes those of the dead.

Its maker holds a lock on each (flock), which ends with the process however it ends, in whatever namespace of process
numbers it lived; so what is of this user, is named as ours and is not locked is nobody's any more.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from envdoctor.errors import Trouble

PLACES = ("/tmp", "/var/tmp", "/dev/shm")  # after TMPDIR, and before our own cache
PREFIX = "envdoctor-held-"
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

_held: dict[Path, int] = {}
"""The descriptor that holds the lock of each folder of ours; -1 where there are no such locks."""


@contextlib.contextmanager
def folder(*, beside: Path | None = None) -> Iterator[Path]:
    """A new folder, removed with all that is in it. Raises `Trouble` when there is no place for one.

    ``beside``: in this folder and no other, for a draft that is renamed into it; raises `OSError` where it cannot be.
    """
    path = new_folder() if beside is None else _make(os.fspath(beside))
    try:
        yield path
    finally:
        remove(path)


def new_folder() -> Path:
    """A new folder that only this user may enter, in the first place that takes one; `remove` it in the end."""
    problem = ""
    for place in (os.environ.get("TMPDIR"), os.environ.get("TEMP"), *PLACES, _cache()):
        if not place or not os.path.isabs(place):
            continue
        try:
            if place == _cache():
                os.makedirs(place, mode=0o700, exist_ok=True)
            return _make(place)
        except OSError as error:
            problem = problem or f"{place}: {error.strerror or error}"
    remedy = "Set TMPDIR to a directory that you may write to and that has space."
    raise Trouble(f"no place for temporary files ({problem})", remedy=remedy, exit_code=3)


def remove(path: Path) -> None:
    """Remove a folder of ours, and those beside it whose makers were killed."""
    descriptor = _held.pop(path, -1)
    _empty(path, descriptor)
    with contextlib.suppress(OSError):
        path.rmdir()
    if descriptor >= 0:
        os.close(descriptor)
        _sweep(path.parent)


def _cache() -> str:
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "envdoctor")


def _make(place: str, attempts: int = 3) -> Path:
    path = Path(place, f"{PREFIX}{os.urandom(8).hex()}")
    path.mkdir(mode=0o700)
    try:
        _held[path] = -1 if sys.platform == "win32" else _lock(path)
        # A full disk takes folders, but no files
        (path / "probe").write_bytes(b"\n" * 8192)
    except OSError as error:
        remove(path)
        if isinstance(error, FileNotFoundError) and attempts > 1:  # somebody's sweep came before the lock
            return _make(place, attempts - 1)
        raise
    return path


@contextlib.contextmanager
def hold(path: Path) -> Iterator[tuple[int, bool | None]]:
    """The folder opened, and whether its lock is ours now: False where somebody else has it, None where its file system
    locks no folders (NFS). Raises `OSError` where it is none, or a link to one.
    """
    descriptor = os.open(path, _FOLDER)
    try:
        yield descriptor, _take(descriptor)
    finally:
        os.close(descriptor)


def _take(descriptor: int) -> bool | None:
    import fcntl  # not on Windows

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def is_same(path: Path, descriptor: int) -> bool:
    """Whether the folder that was opened still stands under its name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _lock(path: Path) -> int:
    """The descriptor of the locked folder, -1 where folders cannot be locked: there nobody sweeps."""
    descriptor = os.open(path, _FOLDER)
    taken = _take(descriptor)
    if not taken:
        os.close(descriptor)
    if taken is False:  # by a sweep, which removes it
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    return descriptor if taken else -1


def _sweep(place: Path) -> None:
    """Remove the folders here of commands that were killed before they could do it themselves."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(place):
            path = Path(entry.path)
            if not entry.name.startswith(PREFIX) or path in _held or not entry.is_dir(follow_symlinks=False):
                continue
            with contextlib.suppress(OSError):
                found = path.lstat()
                if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
                    continue
                with hold(path) as (descriptor, taken):
                    if taken:
                        _empty(path, descriptor)
                        path.rmdir()


def _empty(path: Path, descriptor: int) -> None:
    """Remove what is in the folder that ``descriptor`` is of: by it, so that nothing put in its place is followed."""
    if descriptor < 0:
        if os.path.isdir(path):  # else it has been removed before
            import shutil  # takes longer to import than all folders to empty

            shutil.rmtree(path, ignore_errors=True)
        return
    for _, folders, files, at in os.fwalk(".", topdown=False, dir_fd=descriptor):
        for name in files:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=at)
        for name in folders:
            with contextlib.suppress(OSError):
                try:
                    os.rmdir(name, dir_fd=at)
                except NotADirectoryError:  # a link to one
                    os.unlink(name, dir_fd=at)
