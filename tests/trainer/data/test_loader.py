"""How many processes make batches: the decision from what was timed, and the same steps with any number."""

from __future__ import annotations

import time

import pytest
import torch

from tests.trainer.running import prepare_run, same, weights
from trainer import loop
from trainer.data import feed, loader
from trainer.data.feed import Position
from trainer.errors import TrainerError


@pytest.mark.parametrize(
    ("load", "step", "spare", "thread", "workers"),
    [
        (0.0005, 0.2, 8, True, 0),  # tokens in memory: nothing to hide
        (0.05, 0.2, 8, True, 0),  # a thread hides a quarter of a step
        (0.15, 0.2, 8, True, 2),  # not three quarters, under Python's lock
        (0.1, 0.2, 1, False, 1),
        (0.8, 0.2, 16, True, 5),
        (9.0, 0.2, 64, True, 8),  # never more than eight
        (0.8, 0.2, 0, False, 0),  # all cores compute
        (0.8, 0.2, 3, True, 3),
    ],
)
def test_the_decision(load: float, step: float, spare: int, thread: bool, workers: int) -> None:
    decision = loader.decide(load, step, spare, thread)
    assert decision.workers == workers
    assert "making a batch takes" in decision.reason


def test_what_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = loader.LoaderWatch(lambda: time.sleep(0.03))
    for _ in range(4):
        watch.take()
        time.sleep(0.01)
    assert sorted(watch.loads)[0] >= 0.03
    assert sorted(watch.steps)[0] >= 0.01
    assert len(watch.loads) == 4
    assert watch.decision(8, thread=False).workers >= 1


def test_a_gpus_step_ends_when_it_is_done_and_not_when_it_is_queued() -> None:
    waits: list[int] = []
    watch = loader.LoaderWatch(lambda: None, lambda: (waits.append(1), time.sleep(0.02))[0])
    for _ in range(4):
        watch.take()
    assert len(waits) == 3
    assert min(watch.steps) >= 0.02
    assert watch.decision(8, thread=True).workers == 0


def test_any_number_of_workers_gives_the_same_run(tiny: dict) -> None:
    """Also where the decision is left open: the first steps are made in the loop, the others by whom it says."""
    runs = []
    for workers in (0, 2, -1):
        run = prepare_run({**tiny, "epochs": 2, "accumulate": 2, "loader_workers": workers})
        before = torch.get_rng_state()
        loop.train(run, [])
        assert torch.equal(torch.get_rng_state(), before)  # workers draw nothing from the run's generator
        runs.append(run)
    assert all(run.history.losses == runs[0].history.losses for run in runs)
    assert all(same(weights(run), weights(runs[0])) for run in runs)
    assert [choice.what for choice in runs[2].trainee.choices].count("loader-workers") == 1


def test_the_number_may_change_in_the_middle(tiny: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "decide", lambda *_: loader.LoaderDecision(1, "for the test"))
    plain = prepare_run({**tiny, "epochs": 2, "loader_workers": 0})
    run = prepare_run({**tiny, "epochs": 2, "loader_workers": -1})
    loop.train(plain, [])
    loop.train(run, [])
    assert len(run.history.losses) > loader.WATCHED + 2
    assert run.history.losses == plain.history.losses


def test_an_error_in_a_worker_is_the_users_error(tiny: dict) -> None:
    class Broken:
        @staticmethod
        def step(epoch: int, index: int) -> list:
            raise TrainerError("missing-column", "d.jsonl, line 7: no column", "Add it.")

    with pytest.raises(TrainerError, match="line 7") as caught:
        list(loader.in_processes(Broken(), iter([Position()]), 1, False))
    assert caught.value.remedy == "Add it."


def test_positions_follow_the_epochs(tiny: dict) -> None:
    source = prepare_run({**tiny, "accumulate": 2}).prepared.source
    count = source.steps_in(0)
    found = list(feed.positions(source, Position(5, 1, count - 1, 1), 3))
    assert found[0] == Position(5, 1, count - 1, 1)
    assert found[1] == Position(6, 2, 0, 0)
    assert len(found) == 1 + source.steps_in(2)
