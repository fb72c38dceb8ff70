"""The two system calls that make a change atomic, and the ones that make it last.

``renameat2(RENAME_EXCHANGE)`` swaps two directories in one step (Linux 3.15; renameat2(2) lists the file systems that
know it). It is called through the C library, because Python's `os` has no name for it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

from envdoctor.change.signals import leave_signals

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2
UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS})  # how a file system or an old kernel says so (renameat2(2))


def exchange(one: Path, other: Path) -> None:
    """Swap two directories of one file system atomically. Raises OSError (EINVAL or ENOSYS: not supported here)."""
    _renameat2(one, other, _RENAME_EXCHANGE)


def rename_new(source: Path, target: Path) -> None:
    """Rename to a name that must be free. Raises FileExistsError when somebody was quicker."""
    try:
        _renameat2(source, target, _RENAME_NOREPLACE)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(target)) from error
        source.rename(target)


def _renameat2(source: Path, target: Path, flags: int) -> None:
    function: Callable[..., int] | None = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:  # C libraries older than glibc 2.28 or musl 1.2
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), os.fspath(source))
    if function(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), os.fspath(source), None, os.fspath(target))


def flush_file_system(path: Path) -> None:
    """Write everything of the file system of ``path`` to disk: a new state must not be named before it is stored."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        function: Callable[[int], int] | None = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
        if function is None:
            os.sync()
        elif function(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), os.fspath(path))
    finally:
        os.close(descriptor)


def begin_flush(path: Path) -> None:
    """Let what was written so far go to disk while something else is done; a later `flush_file_system` has little left.

    Nobody waits for it: a change that fails is not to be told of only when a slow disk is done.
    """

    def flush() -> None:
        leave_signals()
        with contextlib.suppress(OSError):  # which the one that is waited for raises again
            flush_file_system(path)

    threading.Thread(target=flush, name="flush", daemon=True).start()


def flush_directory(path: Path) -> None:
    """Make the names in a directory last through a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems have nothing to flush
            raise
    finally:
        os.close(descriptor)


def replace_text(path: Path, text: str) -> None:
    """Replace a file by a new one with ``text``: readers see the old or the new text, also after a power cut."""
    fresh = path.with_name(path.name + ".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    flush_directory(path.parent)
