"""Builds the pieces of a run the way `trainer.run` does, for tests that look inside."""

from __future__ import annotations

from pathlib import Path

import torch

from trainer import loop
from trainer.checkpoints import save
from trainer.checkpoints.resume import restore
from trainer.compute.optimizer import Stepper
from trainer.measure.history import History
from trainer.measure.measurement import Stopwatch
from trainer.model.build import build, compile_layers
from trainer.model.fitting import settle
from trainer.options.settings import from_mapping
from trainer.state import Run
from trainer.tasks.sft import Sft


def prepare_run(values: dict) -> Run:
    """A run ready for `loop.train`, with everything but observers and a saver."""
    settings = from_mapping(values, "test")
    prepared = Sft().prepare(settings, None)
    trainee = build(settings, None)
    Sft().adapt(trainee, settings)
    if settings.compile == "on":
        compile_layers(trainee)
    settings, steps = settle(settings, trainee, prepared, print)
    return Run(
        settings=settings, task=Sft(), trainee=trainee, prepared=prepared,
        stepper=Stepper(trainee.model, trainee.device, settings), stopwatch=Stopwatch(trainee.device),
        history=History(settings.max_bad_steps), total_steps=steps,
        epochs=settings.epochs,
    )  # fmt: skip


def whole(values: dict) -> tuple[list, dict]:
    """Losses and final weights of a run from its begin to its end."""
    run = prepare_run(values)
    loop.train(run, [])
    return run.history.losses, weights(run)


def resumed(values: dict, folder: Path, stop_after: int) -> tuple[list, list, dict]:
    """Losses before and after a stop at that step, and final weights; the second run knows the checkpoint alone."""
    first = prepare_run(values)
    first.saver = save.Saver(folder, 2)
    loop.train(first, [lambda counts, run: run.position.step == stop_after])
    second = prepare_run(values)
    newest, _ = save.newest(folder)
    loop.train(second, [], restore(second, *save.read(newest)))
    return first.history.losses, second.history.losses, weights(second)


def gradients(run: Run, batches: list) -> tuple[float, dict]:
    """Loss and gradients of one step over `batches`, before the optimizer."""
    run.trainee.model.zero_grad(set_to_none=True)
    divisor = sum(batch.weight for batch in batches)
    total = 0.0
    for batch in batches:
        loss = Sft().loss(run.trainee, batch, run.settings, 1.0 / divisor)
        loss.backward()
        total += float(loss.detach())
    return total, {name: p.grad.clone() for name, p in run.trainee.model.named_parameters() if p.requires_grad}


def weights(run: Run) -> dict:
    return {name: p.detach().clone() for name, p in run.trainee.model.named_parameters()}


def same(left: dict, right: dict) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)
