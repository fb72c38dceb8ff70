"""Hashes of many files at the speed of the disk: a few threads, since hashlib lets others run while it works."""

from __future__ import annotations

import base64
import hashlib
import os
from concurrent.futures import ThreadPoolExecutor

from .files import regular

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import Any, Iterator, List, Optional, Tuple

SMALL, BLOCK = 1 << 16, 1 << 20  # bytes
AT_ONCE = 16  # files: handing one over takes longer than hashing a small one
_NEW = {"sha256": hashlib.sha256, "sha384": hashlib.sha384, "sha512": hashlib.sha512}
ALGORITHMS = tuple(_NEW)  # what the wheel format allows in RECORD


def differing_files(entries: List[Tuple[str, str, Optional[int]]]) -> Iterator[Tuple[str, str]]:
    """Paths of entries (path, hash, size) whose file hashes otherwise, with its hash, or the error of reading it."""
    known = [entry for entry in entries if entry[1].partition("=")[0] in ALGORITHMS]
    # The largest first, each by itself: else the last thread would still hash one when the others have ended.
    large = sorted((entry for entry in known if (entry[2] or 0) > BLOCK), key=lambda entry: -(entry[2] or 0))
    small = [entry[:2] for entry in known if (entry[2] or 0) <= BLOCK]
    some = [[entry[:2]] for entry in large]
    some += [small[at : at + AT_ONCE] for at in range(0, len(small), AT_ONCE)]
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for hashed in pool.map(_hash_all, some):
            for path, expected, found in hashed:
                if found and found != expected.rstrip("="):
                    yield path, found


def _hash_all(entries: List[Tuple[str, str]]) -> List[Tuple[str, str, str]]:
    return [_hash(entry) for entry in entries]


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
