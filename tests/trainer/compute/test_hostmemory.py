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


KEEPING = """
import resource, sys
from trainer.compute import hostmemory

if sys.argv[1] == "keep":
    assert hostmemory.keep()
for turn in range(12):
    if turn == 2:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    block = bytearray(b"1") * (64 << 20)
    del block
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another malloc has other habits")
@pytest.mark.parametrize(
    ("way", "least", "most"), [("keep", 0, 100), ("leave", 10 * (64 << 20) // 4096 // 512, 1 << 20)]
)
def test_what_is_kept_is_not_cleared_again(way: str, least: int, most: int) -> None:
    done = subprocess.run([sys.executable, "-c", KEEPING, way], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert least <= int(done.stdout) <= most


@pytest.mark.parametrize(
    ("name", "value"), [("MALLOC_TRIM_THRESHOLD_", "1"), ("GLIBC_TUNABLES", "glibc.malloc.check=1")]
)
def test_whoever_told_malloc_already_is_not_overruled(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setattr(hostmemory.ctypes, "CDLL", lambda _: pytest.fail("malloc was told"))
    monkeypatch.setenv(name, value)
    assert not hostmemory.keep()


def test_what_was_kept_can_be_given_back_after_all() -> None:
    program = PROGRAM.replace("assert hostmemory.give_back()", "assert hostmemory.keep() and hostmemory.give_back()")
    done = subprocess.run([sys.executable, "-c", program, "give back"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert 60 <= int(done.stdout) <= 70
