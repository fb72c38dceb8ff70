"""Hashes of many files at the speed of the disk: a few threads, since hashlib lets others run while it works."""

from __future__ import annotations

import base64
import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Iterator, List, Tuple

BLOCK = 1 << 20
ALGORITHMS = ("sha256", "sha384", "sha512")  # what the wheel format allows in RECORD


def differing(entries: List[Any]) -> Iterator[Tuple[Any, str]]:
    """Entries (path, hash, size) whose file hashes otherwise, with what it hashes to, or the error of reading it."""
    stated = [entry for entry in entries if entry.hash.partition("=")[0] in ALGORITHMS]
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for entry, found in pool.map(lambda entry: (entry, _hash(entry)), stated):
            if found and found != entry.hash.rstrip("="):
                yield entry, found


def _hash(entry: Any) -> str:
    algorithm: str = entry.hash.partition("=")[0]
    digest = hashlib.new(algorithm)
    try:
        with open(entry.path, "rb", buffering=0) as stream:
            buffer = bytearray(BLOCK)
            view = memoryview(buffer)
            while True:
                count = stream.readinto(buffer)
                if not count:
                    break
                digest.update(view[:count])
    except FileNotFoundError:
        return ""  # told already, as missing
    except OSError as error:
        return error.strerror or str(error)
    return algorithm + "=" + base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()
