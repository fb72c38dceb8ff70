"""The training loop. Everything that is the same for every task happens here, in the order it is written.

Nothing in it waits for the device between logs: batches are ready before they are asked for, losses and gradient
norms stay on the device until a later log, and a non-finite gradient is skipped by the optimizer kernel itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from trainer.checkpoints.resume import checkpoint, restore_partial
from trainer.compute import oom
from trainer.compute.hardware import usable_cores
from trainer.compute.optimizer import learning_rate
from trainer.compute.process import quiet_garbage, signals
from trainer.data import feed
from trainer.data.batches import Batch
from trainer.data.feed import Position
from trainer.state import Gradients, Observer, Run


def train(run: Run, observers: Sequence[Observer], partial: Gradients | None = None) -> None:
    """Train from `run.position` to the end, an observer's word, or a signal.

    `partial`: gradients of a step cut short.
    """
    settings, trainee, stepper, watch, group = run.settings, run.trainee, run.stepper, run.stopwatch, run.group
    if settings.max_steps and run.position.step >= settings.max_steps:
        return  # stopped between its last checkpoint and its model
    device, source, every = trainee.device, run.prepared.source, settings.checkpoint_every
    computing = 1 if device.type == "cuda" else torch.get_num_threads()
    machine = feed.LoadingMachine(device.type == "cuda", usable_cores() // group.local_world - computing)
    batches_of = feed.items(source, run.position, run.epochs, settings, machine, trainee.choices)
    step_loss = torch.zeros((), device=device)
    with quiet_garbage(), signals() as stop, batches_of as ready:
        watch.edge()
        for position, batches in ready:
            watch.mark("data")
            weight, counts = group.totals(batches)
            step_loss = gradients(run, position, batches, group.world / weight, partial, stop)
            if run.position.micro < len(batches):  # a signal: what is there so far is saved, too
                run.interrupted = True
                break
            partial = None
            group.reduce_gradients()
            if run.saver:
                run.saver.before_change()
            norm, bad = stepper.step(learning_rate(position.step, run.total_steps, settings))
            watch.mark("optimizer")
            run.history.add(position.step, group.mean(step_loss), norm, bad)
            step_loss = torch.zeros((), device=device)
            if settings.sync_every_step:
                run.history.read()
            run.tokens += counts.real
            run.position = feed.after(position, source.steps_in(position.epoch))
            due = run.position.index == 0 if every < 0 else every > 0 and run.position.step % every == 0
            if run.saver and due:
                checkpoint(run, step_loss)
                watch.mark("checkpoint")
            done = [observer(counts, run) for observer in observers]
            watch.mark("other")
            signalled, ended = group.exchange([bool(stop), any(done) and group.first])
            run.interrupted = bool(signalled)
            if signalled or ended or (settings.max_steps and run.position.step >= settings.max_steps):
                break
    run.history.read()
    if run.saver:
        checkpoint(run, step_loss)
        run.saver.wait()


@oom.in_smaller_pieces
def gradients(
    run: Run,
    position: Position,
    batches: Sequence[Any],
    scale: float,
    partial: Gradients | None,
    stop: Sequence[int],
) -> torch.Tensor:
    """Forward and backward passes of one step; returns its loss so far, a float32 scalar on the device.

    `scale`: what each summed loss is multiplied by. `partial`: what a run cut short within this step had gathered.
    `stop`: not empty when the run is to end; the step is then left after a micro-batch.
    """
    group, watch = run.group, run.stopwatch
    step_loss = restore_partial(run, partial)
    for micro, batch in enumerate(batches):
        if micro < position.micro:
            continue  # already in the restored gradients
        if run.trainee.noise is not None:
            batch = run.trainee.noise.keyed(batch, position.step, micro * group.world + group.rank)
        pieces = oom.cut_batch(batch, run.slots_limit)
        for number, piece in enumerate(pieces, 1):
            # A pass that embeds reaches a weight as often as it has rows: its gradients are exchanged after it.
            last = micro + 1 == len(batches) and number == len(pieces) and isinstance(piece, Batch)
            piece = piece.to(run.trainee.device)
            watch.mark("copy")
            loss = group.compute(run.task.loss, run.trainee, piece, run.settings, scale)
            watch.mark("forward")
            with group.passing(last):
                run.stepper.scaled(loss).backward()
            watch.mark("backward")
            step_loss = step_loss + loss.detach()
        run.position = Position(position.step, position.epoch, position.index, micro + 1)
        if stop and group.world == 1 and micro + 1 < len(batches):
            break  # several processes finish the step: they would first have to agree on where to stop
    return step_loss


def train_more(run: Run, steps: int) -> int:
    """Train up to so many further steps; how many there were."""
    begun = run.position.step
    train(run, [lambda _, current: current.position.step - begun >= steps])
    return run.position.step - begun
