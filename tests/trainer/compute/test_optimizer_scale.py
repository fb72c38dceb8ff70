"""float16's loss scale: searched without giving up, and no search taken for a run that has gone wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from trainer.compute.optimizer import SEARCHING, Stepper
from trainer.errors import TrainerError
from trainer.measure.history import History
from trainer.options.settings import Settings


def run(largest: float, steps: int) -> tuple[History, Stepper, torch.nn.Linear]:
    """Steps whose gradients are finite up to a loss scale of `largest`."""
    model = torch.nn.Linear(4, 4)
    stepper = Stepper(model, torch.device("cpu"), replace(Settings(), learning_rate=0.01, max_bad_steps=5), half=True)
    history = History(5)
    assert stepper.scale is not None
    for step in range(steps):
        loss = model(torch.ones(1, 4)).sum()
        stepper.scaled(loss).backward()
        if float(stepper.scale.value) > largest:
            model.weight.grad.fill_(torch.inf)
        history.add(step, loss.detach(), *stepper.step(0.01))
        history.read()
    return history, stepper, model


def test_a_scale_far_below_the_first_is_found() -> None:
    history, stepper, _ = run(512.0, 12)
    assert history.skipped == [0, 1, 2, 3, 4, 5, 6]  # 65,536 to 1,024: more than max_bad_steps
    assert stepper.scale is not None
    assert float(stepper.scale.value) == 512.0


def test_gradients_that_no_scale_helps_end_the_run() -> None:
    with pytest.raises(TrainerError) as caught:
        run(0.0, 100)
    assert caught.value.kind == "non-finite-gradient"


def test_the_scale_stays_the_same_tensor() -> None:
    """The loss in pieces holds it."""
    _, stepper, _ = run(512.0, 1)
    assert stepper.scale is not None
    tensor = stepper.scale.value
    stepper.scale.update(torch.tensor(1.0))
    assert stepper.scale.value is tensor
    assert SEARCHING < 1.0
