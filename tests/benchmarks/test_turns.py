"""Two real processes that take turns."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.benchmarks.turns import Side, interleave

WORKER = """
import json, sys, time
from tests.benchmarks.turns import Turns
order = json.load(open(sys.argv[1]))
turns, steps = Turns(order, {"hello": order["name"]}), 0
while True:
    steps += 1
    if steps == order.get("dies_at"):
        raise SystemExit("broken on purpose")
    time.sleep(0.001)
    if turns.step(real=10.0):
        break
turns.end({"steps": steps})
"""


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module that a side can run, importable because sides inherit no path but are started in their folder."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "taking_turns.py").write_text(WORKER, encoding="utf-8")
    return "taking_turns"


def start(name: str, module: str, folder: Path, **more: object) -> Side:
    order = {"name": name, "warmup_steps": 2, "seconds": 0.01, **more}
    return Side(name, sys.executable, module, order, folder / name)


def test_sides_warm_up_take_turns_back_and_forth_and_end(worker: str, tmp_path: Path) -> None:
    sides = [start(name, worker, tmp_path) for name in ("a", "b")]
    heard: list = []
    interleave(sides, 3, lambda number, side, piece: heard.append((number, side.name)))
    assert heard == [(0, "a"), (0, "b"), (1, "b"), (1, "a"), (2, "a"), (2, "b")]
    for side in sides:
        assert side.facts["hello"] == side.name
        assert side.facts["steps"] == 2 + sum(piece["steps"] for piece in side.slices)
        assert all(piece["wall"] >= 0.01 and piece["real"] == 10 * piece["steps"] for piece in side.slices)


def test_a_side_that_dies_ends_all_with_its_last_words(worker: str, tmp_path: Path) -> None:
    open_before = set(os.listdir("/proc/self/fd"))
    sides = [start("a", worker, tmp_path), start("b", worker, tmp_path, dies_at=4)]
    with pytest.raises(SystemExit, match="broken on purpose"):
        interleave(sides, 5, lambda *_: None)
    assert all(side._process.poll() is not None for side in sides)
    assert set(os.listdir("/proc/self/fd")) <= open_before
