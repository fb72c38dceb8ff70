"""Two measured runs that take turns: one at a time, in order, and neither waits for one that is gone."""

from __future__ import annotations

import itertools
import os
import threading
import time
from pathlib import Path

import pytest
import torch

from trainer.data.counts import Counts
from trainer.errors import TrainerError
from trainer.measure import turns
from trainer.measure.measurement import TURNS_AFTER, Measurement, Stopwatch
from trainer.measure.protocol import Protocol
from trainer.measure.turns import Turns, from_environment


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("0", "1"):
        os.mkfifo(tmp_path / name)
    return tmp_path


def test_windows_alternate_and_never_overlap(folder: Path) -> None:
    seen: list[str] = []
    told: list[tuple[int, int] | None] = []
    working: set[int] = set()

    def side(number: int, windows: int) -> None:
        mine = Turns(folder, number)
        told.append(mine.start())
        mine.warm(7, 2)
        for window in range(windows):
            assert not working, "the other one computes"
            working.add(number)
            seen.append(f"{number}{window}")
            working.remove(number)
            if window + 1 < windows:
                mine.next()
        mine.end()

    sides = [threading.Thread(target=side, args=(number, 5)) for number in (0, 1)]
    for one in sides:
        one.start()
    for one in sides:
        one.join(20)
    assert told == [None, (7, 2)], "the second one's steps are the first one's"
    assert seen == [f"{number}{window}" for window in range(5) for number in (0, 1)]


def test_who_ends_early_does_not_keep_the_other(folder: Path) -> None:
    done: list[int] = []

    def side(number: int, windows: int) -> None:
        mine = Turns(folder, number)
        mine.start()
        mine.warm(1, 1)
        for _ in range(windows - 1):
            mine.next()
        mine.end()
        done.append(number)

    sides = [threading.Thread(target=side, args=(number, windows)) for number, windows in ((0, 6), (1, 2))]
    for one in sides:
        one.start()
    for one in sides:
        one.join(20)
    assert sorted(done) == [0, 1]


def test_a_stop_is_heard_while_waiting(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LOOK", 0.01)
    (folder / "stop").touch()
    with pytest.raises(TrainerError, match="took turns"):
        Turns(folder, 0).warm(1, 1)


def test_nobody_waits_for_ever(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LOOK", 0.01)
    monkeypatch.setattr(turns, "PATIENCE", 0.05)
    with pytest.raises(TrainerError, match="took turns"):
        Turns(folder, 1).start()


def test_a_first_one_that_ended_before_it_was_warm_leaves_the_second_its_own_warm_up(folder: Path) -> None:
    second = Turns(folder, 1)
    os.write(second._own, b"e")
    assert second.start() is None
    second.warm(3, 1)
    second.next()
    second.end()


def test_the_second_one_warms_up_for_as_many_steps_as_the_first(folder: Path) -> None:
    """Whatever their own times say: they would hold other batches against each other."""
    found: dict[int, Measurement] = {}

    def side(number: int, pauses: list[float]) -> None:
        watch = Stopwatch(torch.device("cpu"))
        protocol = Protocol(windows=2, window_seconds=0.01, max_warmup_seconds=0.1, warmup_tolerance=0.0)
        found[number] = measurement = Measurement(protocol, watch, turns=Turns(folder, number))
        measurement.start()
        for place in itertools.count():
            time.sleep(pauses[place % len(pauses)])
            if measurement.after_step(Counts(trained=1, real=1, slots=1)):
                break

    sides = [threading.Thread(target=side, args=it) for it in ((0, [0.012, 0.02]), (1, [0.001]))]
    for one in sides:
        one.start()
    for one in sides:
        one.join(60)
    first, second = found[0].warmup, found[1].warmup
    assert first is not None
    assert second is not None
    assert second.steps == first.steps >= 3
    assert [window.steps for window in found[1].windows] == [window.steps for window in found[0].windows]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity here")
def test_runs_of_one_thread_are_on_one_core_and_their_other_threads_are_not(folder: Path) -> None:
    allowed = os.sched_getaffinity(0)
    found: list[set[int]] = []

    def side(number: int) -> None:
        Turns(folder, number).share_core()
        found.append(os.sched_getaffinity(0))

    sides = [threading.Thread(target=side, args=(number,)) for number in (0, 1)]
    for one in sides:
        one.start()
    for one in sides:
        one.join(20)
    assert found == [{max(allowed)}] * 2
    assert os.sched_getaffinity(0) == allowed


def test_the_variable_says_which_side(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(turns.VARIABLE, raising=False)
    assert from_environment() is None
    monkeypatch.setenv(turns.VARIABLE, f"{folder}:1")
    assert from_environment() is not None
    for wrong in (f"{folder}/none:0", f"{folder}:x"):
        monkeypatch.setenv(turns.VARIABLE, wrong)
        with pytest.raises(TrainerError, match=r"TRAINER_TURNS"):
            from_environment()


def test_a_part_of_a_step_is_a_turn_and_waiting_for_the_other_one_is_in_no_part(folder: Path) -> None:
    seen: list[str] = []
    times: dict[int, tuple[float, dict[str, float]]] = {}

    def side(number: int, seconds: float) -> None:
        mine, watch = Turns(folder, number), Stopwatch(torch.device("cpu"))
        mine.start()
        mine.warm(1, 1)
        watch.take_turns(mine)
        for _ in range(4):
            for part in ("data", *TURNS_AFTER):
                time.sleep(seconds)
                seen.append(f"{number} {part}")
                watch.mark(part)
        times[number] = watch.edge()
        mine.end()

    sides = [threading.Thread(target=side, args=(number, seconds)) for number, seconds in ((0, 0.0), (1, 0.05))]
    for one in sides:
        one.start()
    for one in sides:
        one.join(60)
    first = [one for one in seen if not one.endswith("data")]
    assert first[:12] == [
        *("0 forward", "1 forward", "1 backward", "0 backward", "0 optimizer", "1 optimizer"),
        *("1 forward", "0 forward", "0 backward", "1 backward", "1 optimizer", "0 optimizer"),
    ], "either one goes first in every other of each part"
    assert sorted(first) == sorted(4 * [f"{number} {part}" for number in (0, 1) for part in TURNS_AFTER])
    wall, parts = times[0]
    assert wall == pytest.approx(sum(parts.values()))
    assert wall < times[1][0] / 2, "the other one slept 0.8 seconds meanwhile"
