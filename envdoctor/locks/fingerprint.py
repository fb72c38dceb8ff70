"""What a target and its locks are, as one hash: the same for everybody who has the same files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def fingerprint(contents: Iterable[bytes]) -> str:
    """sha256 over the sha256 of a target's file and those of its locks, in the order in which it names them."""
    digest = hashlib.sha256()
    for content in contents:
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()
