"""Builds the pieces of a run the way `trainer.run` does, for tests that look inside."""

from __future__ import annotations

import torch

from trainer import loop
from trainer.history import History
from trainer.measure import Stopwatch
from trainer.model import build
from trainer.optimizer import Stepper
from trainer.settings import from_mapping
from trainer.tasks import sft


def prepare_run(values: dict) -> loop.Run:
    """A run ready for `loop.train`, with everything but observers and a saver."""
    settings = from_mapping(values, "test")
    prepared = sft.prepare(settings, None)
    trainee = build(settings, None)
    sft.adapt(trainee, settings)
    steps = prepared.source.steps_in(0) * settings.epochs
    return loop.Run(
        settings=settings, task=sft, trainee=trainee, prepared=prepared,
        stepper=Stepper(trainee.model, trainee.device, settings), stopwatch=Stopwatch(trainee.device),
        history=History(settings.max_bad_steps), total_steps=min(steps, settings.max_steps or steps),
        epochs=settings.epochs,
    )  # fmt: skip


def gradients(run: loop.Run, batches: list) -> tuple[float, dict]:
    """Loss and gradients of one step over `batches`, before the optimizer."""
    run.trainee.model.zero_grad(set_to_none=True)
    divisor = sum(batch.weight for batch in batches)
    total = 0.0
    for batch in batches:
        loss = sft.loss(run.trainee, batch, run.settings, 1.0 / divisor)
        loss.backward()
        total += float(loss.detach())
    return total, {name: p.grad.clone() for name, p in run.trainee.model.named_parameters()}


def weights(run: loop.Run) -> dict:
    return {name: p.detach().clone() for name, p in run.trainee.model.named_parameters()}


def same(left: dict, right: dict) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)
