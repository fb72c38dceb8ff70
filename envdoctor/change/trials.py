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
from envdoctor.system import temporary

_TRIES = 10
_LEFT_SECONDS = 600.0  # where folders cannot be locked: no trial takes so long


@contextlib.contextmanager
def trial_folder(where: Places) -> Iterator[Path]:
    """A new folder that nobody clears away until it is given back. Raises OSError when none can be made there."""
    for _ in range(_TRIES):
        folder = Path(tempfile.mkdtemp(prefix=where.probe_prefix, dir=where.parent))
        with contextlib.ExitStack() as held:
            try:
                descriptor, taken = held.enter_context(temporary.hold(folder))
            except FileNotFoundError:
                continue  # cleared away before it could be held
            if taken is False or not temporary.is_same(folder, descriptor):
                continue
            try:
                yield folder
            finally:
                if os.path.lexists(where.real):  # else it lies in there, by a rename that should have failed
                    delete_tree(folder)
            return
    raise FileNotFoundError(errno.ENOENT, "what is made there is cleared away at once", str(where.parent))


def clear_trials(where: Places) -> None:
    """Delete the folders whose makers are gone."""
    for name in os.listdir(where.parent):
        if name.startswith(where.probe_prefix):
            _clear(where.parent / name)


def _clear(folder: Path) -> None:
    with contextlib.ExitStack() as held:
        try:
            descriptor, taken = held.enter_context(temporary.hold(folder))
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            delete_tree(folder)  # none that a trial holds
            return
        old = time.time() - os.fstat(descriptor).st_mtime > _LEFT_SECONDS
        if taken or (taken is None and old):
            delete_tree(folder)
