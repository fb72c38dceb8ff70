"""Kills, full disks and failing calls at every step of a `fix`: the environment is old or new, never between.

The quick part runs by default. The rest: ``pytest -m faults tests/change`` takes samples;
``ENVDOCTOR_FAULTS=full pytest -m faults tests/change`` takes every call and every count. FAULTS.md holds the results.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.change.faults import ROOT, Arena, Ending, Installer, Part, Point, has_strace, kill_after

needs_strace = pytest.mark.skipif(not has_strace(), reason="strace is not installed")
NO_EXCHANGE = ("-e", "inject=renameat2:error=EINVAL")
PARTS = {"envdoctor": "envdoctor", "wrap": "the installer", "compile": "the compiling of the hook"}
FULL = os.environ.get("ENVDOCTOR_FAULTS") == "full"

COMBINATIONS = pytest.mark.parametrize(
    ("installer", "project"),
    [("uv", False), ("uv", True), ("pip", False), ("pip", True)],
    ids=["uv-exchange", "uv-file_by_file", "pip-exchange", "pip-file_by_file"],
)


class Tally:
    """Counts what trials found, says how far they are, and fails with all that was wrong."""

    def __init__(self, title: str, capsys: pytest.CaptureFixture[str], total: int) -> None:
        self.title, self.capsys, self.total = title, capsys, total
        self.trials, self.hits, self.told = 0, 0, 0
        self.states: Counter[str] = Counter()
        self.wrong: list[tuple[object, str]] = []

    def add(self, where: object, state: str, problems: Iterable[str], *, hit: bool = True) -> None:
        self.trials += 1
        self.hits += hit
        self.states[state] += 1
        self.wrong += [(where, problem) for problem in problems]
        if self.trials % 25 == 0:
            self._say("so far ")

    def close(self) -> None:
        self._say("")
        assert self.wrong == []

    def _say(self, how: str) -> None:
        found = ", ".join(f"{state} {count}" for state, count in sorted(self.states.items()))
        with self.capsys.disabled():
            print(
                f"\n{self.title}: {how}{self.trials} of {self.total} trials, reached {self.hits}; "
                f"right after: {found}; wrong: {len(self.wrong)}",
                flush=True,
            )
            for where, problem in self.wrong[self.told :]:
                print(f"  WRONG at {where}: {problem}", flush=True)
        self.told = len(self.wrong)


def _sample(points: list[Point], share: float = 0.1) -> list[Point]:
    """Some of the points, or all of them; in an order by chance, so that a run that is stopped has sampled evenly."""
    count = len(points) if FULL else round(share * len(points) + 0.5)
    return random.Random(len(points)).sample(points, count)


def _duration(arena: Arena) -> float:
    """Seconds from the end of the imports to the end of the change."""
    if arena.by_engine:
        started = time.monotonic()
        ending = arena.forked("fix")
        assert ending.code == 0, ending.said
        seconds = time.monotonic() - started
        arena.reset()
        return seconds
    process = arena.start(*arena.fix())
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    started = time.monotonic()
    said, _ = process.communicate(timeout=60)
    seconds = time.monotonic() - started
    assert process.returncode == 0, said
    arena.reset()
    return seconds


def _random_kills(arena: Arena, trials: int, number: signal.Signals, capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(7 + number)
    seconds = _duration(arena)
    tally = Tally(f"{number.name} at a random moment", capsys, trials)
    for trial in range(trials):
        moment = chance.uniform(0, seconds)
        ending = kill_after(arena, moment, number, group=trial % 2 == 1)
        state = arena.state()
        problems = arena.judge(ending)
        if number != signal.SIGKILL and ending.code not in (0, 128 + number, -number):
            problems.append(f"exit code {ending.code}: {ending.said[-300:]}")
        tally.add(moment, state, problems, hit=ending.code != 0)
        arena.reset()
    tally.close()


@pytest.mark.faults
def test_a_few_random_kills(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arena = Arena(tmp_path)
    for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
        _random_kills(arena, 2, number, capsys)


@pytest.mark.faults
@pytest.mark.parametrize(("number", "full"), [(signal.SIGKILL, 500), (signal.SIGTERM, 100)], ids=["kill", "term"])
def test_random_kills(tmp_path: Path, number: signal.Signals, full: int, capsys: pytest.CaptureFixture[str]) -> None:
    _random_kills(Arena(tmp_path, by_engine=True), full if FULL else 20, number, capsys)


@pytest.mark.faults
@pytest.mark.parametrize(
    ("number", "full"), [(signal.SIGKILL, 50), (signal.SIGINT, 100), (signal.SIGTERM, 20)], ids=["kill", "int", "term"]
)
def test_random_kills_of_the_command_line(
    tmp_path: Path, number: signal.Signals, full: int, capsys: pytest.CaptureFixture[str]
) -> None:
    _random_kills(Arena(tmp_path), full if FULL else 5, number, capsys)


@pytest.mark.faults
@COMBINATIONS
def test_random_kills_of_every_way(
    tmp_path: Path, installer: Installer, project: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    arena = Arena(tmp_path, installer=installer, project=project, by_engine=True)
    _random_kills(arena, 100 if FULL else 5, signal.SIGKILL, capsys)


def _pairs(arena: Arena, trials: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Two at once: one succeeds; the other does too, or says who holds the lock. The result is the new state."""
    chance = random.Random(20)
    tally = Tally("pairs at once", capsys, trials)
    for _ in range(trials):
        first = arena.start(*arena.fix())
        time.sleep(chance.choice((0.0, chance.uniform(0, 1))))
        second = arena.start(*arena.fix())
        endings = [
            Ending(code=process.wait(60), said=process.communicate(timeout=60)[0]) for process in (first, second)
        ]
        problems = [
            f"exit code {one.code}: {one.said[-600:]}"
            for one in endings
            if one.code not in (0, 3) or (one.code == 3 and "another envdoctor (process" not in one.said)
        ]
        if not any(one.code == 0 for one in endings) or arena.state() != "NEW":
            problems.append(f"nobody won: {[one.said[-600:] for one in endings]}")
        codes = "+".join(str(one.code) for one in endings)
        tally.add(codes, f"{arena.state()} with exit codes {codes}", problems + arena.judge(endings[0]))
        arena.reset()
    tally.close()


def test_two_at_once_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _pairs(Arena(tmp_path), 1, capsys)


@pytest.mark.faults
@pytest.mark.parametrize("project", [False, True], ids=["exchange", "file_by_file"])
def test_pairs_at_once(tmp_path: Path, project: bool, capsys: pytest.CaptureFixture[str]) -> None:
    _pairs(Arena(tmp_path, project=project), 20 if FULL else 4, capsys)


def _every_call(
    arena: Arena,
    what: str,
    part: Part,
    capsys: pytest.CaptureFixture[str],
    *,
    together: bool = False,
    extra: tuple[str, ...] = (),
) -> None:
    points = arena.points(part, extra=extra)
    chosen = _sample(points)
    dies = f"{PARTS[part]} with envdoctor" if together else PARTS[part]
    way = "three renames" if extra else "file by file" if arena.journaled else "exchange"
    tally = Tally(f"{what} in {dies}, {arena.installer}, {way}, {len(points)} calls", capsys, len(chosen))
    for point in chosen:
        ending = arena.inject(part, what, point, together=together, extra=extra)
        for _ in range(2):  # which thread makes a call differs, and a trial in which none made it says nothing
            if not ending.hit:
                arena.reset()
                ending = arena.inject(part, what, point, together=together, extra=extra)
        problems = arena.judge(ending, journaled=arena.journaled or bool(extra))
        if not ending.hit and part == "envdoctor":
            problems.append(f"not reached: {ending.said}")
        tally.add(point, arena.seen, problems, hit=ending.hit)
        arena.reset()
    tally.close()


@needs_strace
@pytest.mark.faults
@COMBINATIONS
@pytest.mark.parametrize(
    ("part", "together"),
    [("envdoctor", False), ("wrap", False), ("wrap", True), ("compile", False), ("compile", True)],
    ids=["envdoctor", "installer", "installer_and_envdoctor", "compiler", "compiler_and_envdoctor"],
)
def test_kill_at_every_call(
    tmp_path: Path, installer: Installer, project: bool, part: Part, together: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    arena = Arena(tmp_path, installer=installer, project=project, by_engine=True)
    _every_call(arena, "signal=SIGKILL", part, capsys, together=together)


@needs_strace
@pytest.mark.faults
@pytest.mark.parametrize("what", ["error=ENOSPC", "error=EIO", "error=EROFS", "error=EACCES"])
@pytest.mark.parametrize("project", [False, True], ids=["exchange", "file_by_file"])
@pytest.mark.parametrize("part", ["envdoctor", "wrap"], ids=["envdoctor", "installer"])
def test_error_of_every_call(
    tmp_path: Path, what: str, project: bool, part: Part, capsys: pytest.CaptureFixture[str]
) -> None:
    _every_call(Arena(tmp_path, project=project, by_engine=True), what, part, capsys)


@needs_strace
@pytest.mark.faults
def test_kill_at_every_call_of_three_renames(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file system that cannot exchange: for an instant there is no environment."""
    _every_call(Arena(tmp_path, by_engine=True), "signal=SIGKILL", "envdoctor", capsys, extra=NO_EXCHANGE)


@needs_strace
@pytest.mark.faults
@pytest.mark.parametrize("project", [False, True], ids=["exchange", "file_by_file"])
def test_kill_at_every_call_of_an_undo(tmp_path: Path, project: bool, capsys: pytest.CaptureFixture[str]) -> None:
    arena = Arena(tmp_path, project=project, by_engine=True)
    assert arena.run().code == 0
    points = arena.points("envdoctor", "undo")
    title = f"signal=SIGKILL in an undo, {'file by file' if project else 'exchange'}, {len(points)} calls"
    tally = Tally(title, capsys, len(_sample(points)))
    for point in _sample(points):
        assert arena.run().code == 0
        ending = arena.inject("envdoctor", "signal=SIGKILL", point, "undo")
        state = arena.state()
        if project and state not in ("OLD", "NEW"):
            arena.run("recover")
        settled = arena.state()
        again = arena.run("undo") if settled == "NEW" else ending
        problems = []
        if settled not in ("OLD", "NEW") or arena.state() != "OLD":
            problems.append(f"{settled}, then {arena.state()} and {again.code}: {again.said}")
        tally.add(point, state, problems, hit=ending.hit)
        arena.reset()
    tally.close()


def test_faults_are_described() -> None:
    """What the file of results promises are commands of this module."""
    text = (ROOT / "tests" / "change" / "FAULTS.md").read_text(encoding="utf-8")
    assert "ENVDOCTOR_FAULTS=full pytest -m faults" in text
    for name in ("test_kill_at_every_call", "test_random_kills", "test_pairs_at_once", "test_error_of_every_call"):
        assert name in text
        assert name in globals()
