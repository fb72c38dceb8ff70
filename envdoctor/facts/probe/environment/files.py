"""Opening what ought to be a file, and is whatever somebody put there."""

from __future__ import annotations

import errno
import os
import stat

PIECE = 1 << 15  # bytes; reading one into a larger place takes longer than reading twice
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


def contents(path: str, limit: int) -> bytes:
    """The file's first ``limit`` bytes. Raises OSError, as `regular` does for what is no file.

    Without Python's layers of a stream: an environment has thousands of small files to read.
    """
    descriptor = regular(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        pieces, left = [], limit
        while left > 0:
            piece = os.read(descriptor, min(left, PIECE))
            if not piece:
                break
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)
