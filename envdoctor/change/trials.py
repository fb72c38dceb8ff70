"""Folders beside an environment in which it is tried what their file system can do.

Whoever holds the environment's lock clears away those that killed ones left. They are made without that lock, so their
maker holds each by an `flock` of its own: one that is cleared away under a trial would not only spoil it, a rename that
has to fail would succeed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from envdoctor.change.clone import delete_tree
from envdoctor.change.places import Places

_TRIES = 10
_LEFT_SECONDS = 600.0  # where folders cannot be locked: no trial takes so long


@contextlib.contextmanager
def trial_folder(where: Places) -> Iterator[Path]:
    """A new folder that nobody clears away until it is given back. Raises OSError when none can be made there."""
    folder, descriptor = _make(where)
    try:
        yield folder
    finally:
        try:
            if os.path.lexists(where.real):  # else it lies in there, by a rename that should have failed
                delete_tree(folder)
        finally:
            os.close(descriptor)


def clear_trials(where: Places) -> None:
    """Delete the folders whose makers are gone."""
    for name in os.listdir(where.parent):
        if name.startswith(where.probe_prefix):
            _clear(where.parent / name)


def _make(where: Places) -> tuple[Path, int]:
    for _ in range(_TRIES):
        folder = Path(tempfile.mkdtemp(prefix=where.probe_prefix, dir=where.parent))
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue  # cleared away before it could be held
        if _take(descriptor) is not False and _is(folder, descriptor):
            return folder, descriptor
        os.close(descriptor)
    raise FileNotFoundError(errno.ENOENT, "what is made there is cleared away at once", str(where.parent))


def _clear(folder: Path) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        delete_tree(folder)  # none that a trial holds
        return
    try:
        taken = _take(descriptor)
        old = time.time() - os.fstat(descriptor).st_mtime > _LEFT_SECONDS
        if taken or (taken is None and old):
            delete_tree(folder)
    finally:
        os.close(descriptor)


def _take(descriptor: int) -> bool | None:
    """Lock it: False where somebody else has, None where its file system locks no folders."""
    import fcntl  # not on Windows

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is(folder: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), folder.lstat())
    except FileNotFoundError:
        return False
