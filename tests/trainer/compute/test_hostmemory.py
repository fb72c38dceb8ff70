"""Freed blocks leave the process where it was asked for, and stay where it was not."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from tests.trainer.launching import ROOT
from trainer.compute import hostmemory

PROGRAM = """
import sys
from trainer.compute import hostmemory

def held():
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * 4096

large = bytearray(30 << 20)
del large  # from here on glibc keeps blocks of less than that
if sys.argv[1] == "give back":
    assert hostmemory.give_back()
blocks = [bytearray(b"1") * (2 << 20) for _ in range(64)]
before = held()
del blocks[::2]  # holes
print((before - held()) >> 20)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another malloc has other habits")
@pytest.mark.parametrize(("way", "least", "most"), [("give back", 60, 70), ("leave", -1, 5)])
def test_holes_are_given_back(way: str, least: int, most: int) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, way], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert least <= int(done.stdout) <= most


def test_a_library_without_such_a_call_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostmemory.ctypes, "CDLL", lambda _: object())
    assert not hostmemory.give_back()
