"""Stopped anywhere, continued to the same bits: random points, between and within steps, any number of loader workers.

TRAINER_RESUME_POINTS=50 tries as many points; by default a few of them.
"""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest

from tests.trainer.running import prepare_run, same, weights
from trainer import loop
from trainer.checkpoints import save
from trainer.checkpoints.resume import restore
from trainer.state import Run

POINTS = int(os.environ.get("TRAINER_RESUME_POINTS", "4"))
WORKERS = (0, 2, 8)

pytestmark = pytest.mark.slow


class StopAt:
    """The task of a run, with a SIGTERM to this process when the n-th micro-batch begins."""

    def __init__(self, run: Run, micro_batch: int) -> None:
        self.task, self.left = run.task, micro_batch

    def loss(self, *arguments):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGTERM)
        return self.task.loss(*arguments)


@pytest.mark.parametrize("workers", WORKERS)
def test_any_point_is_a_point_to_go_on_from(tiny: dict, tmp_path: Path, workers: int) -> None:
    values = {**tiny, "epochs": 3, "accumulate": 3, "lora_rank": 4, "lora_dropout": 0.1}
    whole = prepare_run({**values, "loader_workers": 0})
    micro_batches = []
    counted = StopAt(whole, 10**9)
    whole.task = counted
    loop.train(whole, [lambda counts, run: micro_batches.append(1) is not None])
    total = 10**9 - counted.left
    draw = random.Random(workers)
    points = sorted(draw.choices(range(1, total + 1), k=POINTS))
    steps_within = 0
    for number, point in enumerate(points):
        folder = tmp_path / str(number)
        first = prepare_run({**values, "loader_workers": workers})
        first.task, first.saver = StopAt(first, point), save.Saver(folder, 2)
        loop.train(first, [])
        assert first.interrupted
        steps_within += first.position.micro > 0
        second = prepare_run({**values, "loader_workers": workers})
        loop.train(second, [], restore(second, *save.read(save.newest(folder)[0])))
        assert first.history.losses + second.history.losses == whole.history.losses, point
        assert same(weights(second), weights(whole)), point
    assert steps_within or POINTS < 4
