"""Hashes of many files at the speed of the disk: a few threads, since hashlib lets others run while it works."""

from __future__ import annotations

import base64
import hashlib
import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor

from .files import regular

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, List, Optional, Tuple

SMALL, LARGE, BLOCK = 1 << 16, 1 << 18, 1 << 20  # bytes
AT_ONCE = 16  # files: to take one takes longer than hashing a small one
_NEW = {"sha256": hashlib.sha256, "sha384": hashlib.sha384, "sha512": hashlib.sha512}
ALGORITHMS = tuple(_NEW)  # what the wheel format allows in RECORD


def differing_files(entries: List[Tuple[str, str, Optional[int]]]) -> Iterator[Tuple[str, str]]:
    """Paths of entries (path, hash, size) whose file hashes otherwise, with its hash, or the error of reading it."""
    known = [entry for entry in entries if entry[1].partition("=")[0] in ALGORITHMS]
    # The largest first, each by itself: else the last thread would still hash one when the others have ended.
    large = sorted((entry for entry in known if (entry[2] or 0) > LARGE), key=lambda entry: -(entry[2] or 0))
    small = [entry[:2] for entry in known if (entry[2] or 0) <= LARGE]
    todo = deque([entry[:2]] for entry in large)
    todo.extend(small[at : at + AT_ONCE] for at in range(0, len(small), AT_ONCE))
    # Small files are work for Python itself, and threads at them wait for each other half of the time: so one begins
    # with them, at the other end.
    threads = min(4, os.cpu_count() or 1)
    with ThreadPoolExecutor(threads) as pool:
        others = [pool.submit(_hash_all, todo.popleft) for _ in range(min(threads, len(todo)) - 1)]
        hashed = _hash_all(todo.pop)
        for path, expected, found in (*hashed, *(one for other in others for one in other.result())):
            if found and found != expected.rstrip("="):
                yield path, found


def _hash_all(take: Callable[[], List[Tuple[str, str]]]) -> List[Tuple[str, str, str]]:
    """Hash some files after others, until there are none to take."""
    done: List[Tuple[str, str, str]] = []
    while True:
        try:
            some = take()
        except IndexError:
            return done
        done.extend(map(_hash, some))


def _hash(entry: Tuple[str, str]) -> Tuple[str, str, str]:
    """Without a file object: to make one takes as long as to read and hash a small file."""
    path, expected = entry
    algorithm = expected.partition("=")[0]
    digest = _NEW[algorithm]()
    try:
        descriptor = regular(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
        try:
            start = os.read(descriptor, SMALL)  # most files end here: a block for each of ten thousand took longer
            digest.update(start)
            if len(start) == SMALL:
                _hash_rest(descriptor, digest)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return path, expected, ""  # told already, as missing
    except OSError as error:
        return path, expected, error.strerror or str(error)
    return path, expected, algorithm + "=" + base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()


def _hash_rest(descriptor: int, digest: Any) -> None:
    with open(descriptor, "rb", buffering=0, closefd=False) as stream:
        buffer = bytearray(BLOCK)
        view = memoryview(buffer)
        while True:
            count = stream.readinto(buffer)
            if not count:
                break
            digest.update(view[:count])
