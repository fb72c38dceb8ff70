"""SHA-256 of a few bytes, without loading OpenSSL: `hashlib` takes longer to import than all of a check's hashes."""

from __future__ import annotations

import importlib


def sha256(data: bytes) -> str:
    """The hexadecimal digest: Python's own, where it has one, else that of `hashlib`."""
    for module in ("_sha2", "_sha256"):  # from Python 3.12 on; before
        try:
            made = importlib.import_module(module).sha256(data)
        except (ImportError, AttributeError):
            continue
        return str(made.hexdigest())
    import hashlib

    return hashlib.sha256(data).hexdigest()
