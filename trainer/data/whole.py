"""Files and folders that are there whole or not at all, whatever happens to the machine while they are written.

What is new is written beside its place and flushed to the disk; one rename makes it visible, and the folder that
knows its name is flushed after that.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def beside(path: Path, word: str = "tmp") -> Path:
    """A name next to `path` that nobody else takes."""
    return path.with_name(f"{path.name}.{word}-{uuid.uuid4().hex[:8]}")


def write_file(path: Path, content: bytes) -> None:
    """Put a file at `path`, in place of what was there. OSError when that cannot be; the old one is then intact."""
    partial = beside(path)
    try:
        partial.write_bytes(content)
        flush(partial)
        os.replace(partial, path)
        flush(path.parent)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder to fill, which is at `target` afterwards, in place of what was there (that goes last).

    What the block raises leaves `target` as it was.
    """
    partial, old = beside(target), beside(target, "old")
    try:
        partial.mkdir(parents=True)
        yield partial
        for path in [*partial.rglob("*"), partial]:
            flush(path)
        if target.exists():
            os.rename(target, old)
        os.rename(partial, target)
        flush(target.parent)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def flush(path: Path) -> None:
    """Until a file's bytes, or a folder's entries, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256(path: Path) -> str:
    """Of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        for block in iter(lambda: stream.read(1 << 22), b""):
            digest.update(block)
    return digest.hexdigest()
