from __future__ import annotations

import math
import os
import signal
import time

import pytest
import torch

from tests.trainer.running import prepare_run, resumed, same, weights, whole
from trainer import loop
from trainer.checkpoints import save
from trainer.checkpoints.resume import restore
from trainer.compute.optimizer import Stepper
from trainer.data.counts import Counts
from trainer.errors import TrainerError
from trainer.measure.measurement import PARTS, Measurement
from trainer.measure.pace import _whole, meter
from trainer.measure.protocol import Protocol
from trainer.options.settings import Settings


@pytest.mark.parametrize("stop_after", [1, 3, 4, 9])  # the first step, mid-epoch, an epoch's end, the third epoch
def test_resuming_gives_the_same_bits(tiny: dict, tmp_path, stop_after: int) -> None:
    values = {**tiny, "epochs": 3, "accumulate": 2}
    losses, final = whole(values)
    assert len(losses) > 9
    before, after, found = resumed(values, tmp_path / "c", stop_after)
    assert before + after == losses
    assert same(found, final)


def test_a_signal_in_mid_accumulation_saves_the_gradients_and_resumes_to_the_same_bits(tiny: dict, tmp_path) -> None:
    values = {**tiny, "accumulate": 3}
    losses, final = whole(values)
    run = prepare_run(values)
    run.saver = save.Saver(tmp_path / "c", 2)
    calls = []
    original = run.task

    class Interrupting:
        """The task, with a SIGTERM during the fifth micro-batch: the second of the second step."""

        @staticmethod
        def loss(*arguments):
            calls.append(1)
            if len(calls) == 5:
                os.kill(os.getpid(), signal.SIGTERM)
            return original.loss(*arguments)

    run.task = Interrupting
    loop.train(run, [])
    assert run.interrupted
    assert (run.position.step, run.position.micro) == (1, 2)
    folder, _ = save.newest(tmp_path / "c")
    assert folder.name == "step-00000001+2"
    again = prepare_run(values)
    loop.train(again, [], restore(again, *save.read(folder)))
    assert run.history.losses + again.history.losses == losses
    assert same(weights(again), final)


def test_training_learns(tiny: dict) -> None:
    losses, _ = whole({**tiny, "epochs": 3, "learning_rate": 1e-2})
    assert losses[0] == pytest.approx(math.log(2048), rel=0.05)
    assert losses[-1] < 0.6 * losses[0]


@pytest.mark.parametrize("kind", ["fused", "foreach", "loop"])
def test_a_non_finite_gradient_changes_nothing_and_is_told(tiny: dict, kind: str) -> None:
    run = prepare_run({**tiny, "optimizer": kind, "max_bad_steps": 2})
    before = weights(run)
    original = run.task.loss
    run.task = type("Poisoned", (), {"loss": staticmethod(lambda *arguments: original(*arguments) * float("nan"))})
    with pytest.raises(TrainerError) as caught:
        loop.train(run, [])
    assert caught.value.kind == "non-finite-gradient"
    assert run.history.skipped[:2] == [0, 1]
    assert math.isnan(run.history.losses[0])
    assert same(weights(run), before)


def test_optimizers_agree_and_clip_like_torch() -> None:
    """Clipping inside the fused kernel equals clip_grad_norm_ followed by a plain step."""
    settings = Settings(clip_norm=0.5, learning_rate=0.1)
    results = []
    for kind in ("fused", "foreach", "loop"):
        torch.manual_seed(0)
        model = torch.nn.Linear(6, 5)
        stepper = Stepper(model, torch.device("cpu"), Settings(clip_norm=0.5, learning_rate=0.1, optimizer=kind))
        for _ in range(3):
            model(torch.ones(4, 6)).square().sum().backward()
            norm, bad = stepper.step(0.1)
        assert float(bad) == 0.0
        assert float(norm) > settings.clip_norm
        results.append(model.weight.detach().clone())
    torch.manual_seed(0)
    model = torch.nn.Linear(6, 5)
    adamw = torch.optim.AdamW(model.parameters(), lr=0.1, betas=(0.9, 0.95), weight_decay=0.0)
    for _ in range(3):
        adamw.zero_grad()
        model(torch.ones(4, 6)).square().sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        adamw.step()
    for result in results:
        assert torch.allclose(result, model.weight, atol=1e-6)


def test_breakdown_adds_up_to_the_wall_time(tiny: dict) -> None:
    run = prepare_run({**tiny, "epochs": 1000})
    run.epochs = 1000
    measurement = Measurement(Protocol(windows=4, window_seconds=0.05, max_warmup_seconds=20.0), run.stopwatch)
    measurement.start()
    loop.train(run, [lambda counts, _: measurement.after_step(counts)])
    assert len(measurement.windows) == 4
    for window in measurement.windows:
        assert set(window.breakdown) == set(PARTS)
        assert sum(window.breakdown.values()) == pytest.approx(window.seconds, rel=0.02)
        assert window.tokens["trained"] <= window.tokens["real"] <= window.tokens["slots"]
        assert window.breakdown["forward"] > 0 < window.breakdown["backward"]
    assert measurement.warmup.steps >= 2


def test_the_pace_is_taken_between_windows_and_outside_of_their_time(tiny: dict) -> None:
    run = prepare_run({**tiny, "epochs": 1000})
    run.epochs = 1000
    paces = iter(range(1, 100))

    def slow() -> float:
        time.sleep(0.3)
        return float(next(paces))

    measurement = Measurement(Protocol(windows=3, window_seconds=0.05, max_warmup_seconds=20.0), run.stopwatch, slow)
    measurement.start()
    loop.train(run, [lambda counts, _: measurement.after_step(counts)])
    assert [window.pace**2 for window in measurement.windows] == pytest.approx([1 * 2, 2 * 3, 3 * 4])
    timed = sum(window.seconds for window in measurement.windows)
    steps = sum(window.steps for window in measurement.windows)
    typical = measurement.warmup.seconds / measurement.warmup.steps
    assert timed < steps * typical + 3 * 0.3, "the pauses of 0.3 s are not in the windows"
    for window in measurement.windows:
        assert sum(window.breakdown.values()) == pytest.approx(window.seconds, rel=0.02)


def test_the_meter_times_products_of_the_format() -> None:
    for dtype in (torch.float32, torch.bfloat16):
        assert 0.0 < meter(torch.device("cpu"), dtype)() < 1e6


def test_work_that_takes_far_too_long_is_not_done_to_its_end() -> None:
    calls = []

    def slow() -> None:
        calls.append(time.sleep(0.15))

    assert _whole(slow, 100) >= 100 * 0.15  # of the two that were done; a busy machine makes them longer
    assert len(calls) == 2
    calls.clear()
    assert _whole(lambda: calls.append(None), 12) < 1.0
    assert len(calls) == 12


def test_counts_add() -> None:
    assert Counts(1, 2, 3, 4, 5) + Counts(1, 1, 1, 1, 1) == Counts(2, 3, 4, 5, 6)
