"""Opening what ought to be a file, and is whatever somebody put there."""

from __future__ import annotations

import errno
import os
import stat

RECORD_LIMIT = 64 << 20  # bytes; a wheel of 100,000 files has a RECORD of 10 MB


def regular(path: str, flags: int) -> int:
    """An ``opener`` for `open`, of files only: a pipe would block for ever, and a device never ends.

    Raises OSError (EINVAL) for anything else.
    """
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return descriptor
