"""Too little memory is said in a line, at whatever point it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.change.conftest import make_environment


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux")
def test_a_check_in_any_address_space_ends_in_a_verdict_or_a_line(tmp_path: Path) -> None:
    make_environment(tmp_path / "env")
    words = [sys.executable, "-m", "envdoctor", "check", "--no-torch", "--env", tmp_path / "env"]
    codes = set()
    for megabytes in (*range(30, 130, 5), 200, 400):
        # The shell limits itself before it becomes the command; Python needs some 25 MB to get so far as to say a word.
        limited = ["/bin/sh", "-c", f'ulimit -v {megabytes * 1024}; exec "$@"', "sh", *words]
        done = subprocess.run(limited, capture_output=True, text=True, timeout=120)
        codes.add(done.returncode)
        assert "Traceback" not in done.stderr, (megabytes, done.stderr)
        assert "internal error" not in done.stderr, (megabytes, done.stderr)
        if done.returncode == 2:
            assert "not enough memory" in done.stderr, (megabytes, done.stderr)
        else:
            assert done.returncode in (0, 1, 3), (megabytes, done.stderr)
    assert codes >= {2}
    assert codes - {2}
