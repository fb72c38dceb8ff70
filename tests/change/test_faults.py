"""Kills, full disks and failing calls at every step of a change: the environment is old or new, never between.

The quick part runs by default. The rest: ``pytest -m faults tests/change``. Results of the full run (2 CPU cores, ext4,
Linux 6.18, uv 0.13.8, pip 26.3): see ``RESULTS`` below, which the last test prints again from its own counts.
"""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest

from tests.change.faults import Arena, Ending, has_strace, inject, kill_after

needs_strace = pytest.mark.skipif(not has_strace(), reason="strace is not installed")
NO_EXCHANGE = ("-e", "inject=renameat2:error=EINVAL")


def _duration(arena: Arena) -> float:
    """Seconds from the end of the imports to the end of the change."""
    process = arena.start(*arena.command())
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    started = time.monotonic()
    said, _ = process.communicate(timeout=60)
    seconds = time.monotonic() - started
    assert process.returncode == 0, said
    arena.reset()
    return seconds


def _random_kills(arena: Arena, trials: int, number: signal.Signals, seed: int, seconds: float) -> None:
    chance = random.Random(seed)
    failed = []
    states = {"OLD": 0, "NEW": 0}
    for trial in range(trials):
        moment = chance.uniform(0, seconds)
        ending = kill_after(arena, moment, number, group=trial % 2 == 1)
        states[arena.state()] = states.get(arena.state(), 0) + 1
        if number != signal.SIGKILL and ending.code not in (0, 128 + number, -number):
            failed.append((moment, f"exit code {ending.code}: {ending.said[-300:]}"))
        failed += [(moment, problem) for problem in arena.judge(ending)]
        arena.reset()
    print(f"{number.name} at {trials} random moments: {states}")
    assert failed == []


def test_a_few_random_kills(tmp_path: Path) -> None:
    arena = Arena(tmp_path)
    seconds = _duration(arena)
    for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
        _random_kills(arena, 3, number, seed=number, seconds=seconds)


@pytest.mark.faults
@pytest.mark.parametrize("options", [(), ("pip",)], ids=["uv", "pip"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_many_random_kills(tmp_path: Path, number: signal.Signals, options: tuple[str, ...]) -> None:
    arena = Arena(tmp_path, *options)
    _random_kills(arena, 100 if options else 500, number, seed=7 + number, seconds=_duration(arena))


def _every_call(
    arena: Arena, what: str, *, installer: bool = False, extra: tuple[str, ...] = (), journaled: bool = False
) -> None:
    prefix = ("strace", "-qq", "-o", "/dev/null", *extra) if extra else ()
    points = arena.calls(*prefix, inside_installer=installer)
    failed: list[tuple[object, str]] = []
    states: dict[str, int] = {}
    for point in points:
        words = inject(what, point, follow=installer, extra=extra)
        ending: Ending = arena.run(options=("wrap=" + " ".join(words),)) if installer else arena.run(*words)
        state = arena.state()
        states[state] = states.get(state, 0) + 1
        failed += [(point, problem) for problem in arena.judge(ending, journaled=journaled)]
        arena.reset()
    print(f"{what} at {len(points)} calls of {'the installer' if installer else 'envdoctor'} {extra}: {states}")
    assert failed == []


@needs_strace
@pytest.mark.faults
@pytest.mark.parametrize("options", [(), ("pip",)], ids=["uv", "pip"])
@pytest.mark.parametrize("installer", [False, True], ids=["envdoctor", "installer"])
def test_kill_at_every_call(tmp_path: Path, options: tuple[str, ...], installer: bool) -> None:
    _every_call(Arena(tmp_path, *options), "signal=SIGKILL", installer=installer)


@needs_strace
@pytest.mark.faults
@pytest.mark.parametrize("what", ["error=ENOSPC", "error=EIO", "error=EROFS"])
@pytest.mark.parametrize("installer", [False, True], ids=["envdoctor", "installer"])
def test_error_of_every_call(tmp_path: Path, what: str, installer: bool) -> None:
    _every_call(Arena(tmp_path), what, installer=installer)


@needs_strace
@pytest.mark.faults
def test_kill_at_every_call_of_a_journaled_swap(tmp_path: Path) -> None:
    """A file system that cannot exchange: for an instant there is no environment."""
    _every_call(Arena(tmp_path), "signal=SIGKILL", extra=NO_EXCHANGE, journaled=True)


@needs_strace
@pytest.mark.faults
@pytest.mark.parametrize("what", ["signal=SIGKILL", "error=ENOSPC"])
def test_every_call_of_a_change_file_by_file(tmp_path: Path, what: str) -> None:
    _every_call(Arena(tmp_path, project=True), what, journaled=True)


@needs_strace
@pytest.mark.faults
def test_kill_at_every_call_of_an_undo(tmp_path: Path) -> None:
    arena = Arena(tmp_path)
    failed: list[tuple[object, str]] = []
    states: dict[str, int] = {}
    assert arena.run().code == 0
    points = arena.calls(options=("undo",))
    for point in points:
        assert arena.run().code == 0
        arena.run(*inject("signal=SIGKILL", point), options=("undo",))
        state = arena.state()
        states[state] = states.get(state, 0) + 1
        again = arena.run(options=("undo",))
        if state not in ("OLD", "NEW") or arena.state() != "OLD":
            failed.append((point, f"{state}, then {arena.state()} and {again.code}: {again.said}"))
        arena.reset()
    print(f"SIGKILL at {len(points)} calls of an undo: {states}")
    assert failed == []
