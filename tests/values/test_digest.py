"""A digest of ours is that of everybody's library."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest

from envdoctor.values import digest


@pytest.mark.parametrize("data", [b"", b"torch==2.13.0 0\n", bytes(range(256)) * 300])
def test_it_is_sha256(data: bytes) -> None:
    assert digest.sha256(data) == hashlib.sha256(data).hexdigest()


def test_it_is_sha256_where_python_has_none_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_sha2", "_sha256"):
        monkeypatch.setitem(sys.modules, name, None)
    assert digest.sha256(b"x") == hashlib.sha256(b"x").hexdigest()


def test_openssl_is_not_loaded_for_it() -> None:
    program = "import sys; from envdoctor.values.digest import sha256; sha256(b'x'); print('_hashlib' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"
