"""The training loop. Everything that is the same for every task happens here, in the order it is written.

Nothing in it waits for the device between logs: batches are ready before they are asked for, losses and gradient
norms stay on the device until a later log, and a non-finite gradient is skipped by the optimizer kernel itself.
"""

from __future__ import annotations

import gc
import signal
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional

import torch

from trainer import feed, randomness
from trainer.feed import Position
from trainer.history import History
from trainer.measure import Counts, Stopwatch
from trainer.model import Trainee
from trainer.optimizer import Stepper, learning_rate
from trainer.save import Saver, Tensors, folder_name
from trainer.settings import Settings
from trainer.task import Prepared, Task

Observer = Callable[[Counts, "Run"], bool]  # told after each step; True ends the run


@dataclass
class Run:
    """One training run. `position` is always the next thing to do; `interrupted` says that a signal ended it."""

    settings: Settings
    task: Task
    trainee: Trainee
    prepared: Prepared
    stepper: Stepper
    stopwatch: Stopwatch
    history: History
    total_steps: int
    saver: Optional[Saver] = None
    position: Position = field(default_factory=Position)
    epochs: int = 1
    interrupted: bool = False
    first_step_done: float = 0.0
    tokens: int = 0  # real tokens trained on, over all resumptions


def train(run: Run, observers: List[Observer], partial: Optional[Dict[str, torch.Tensor]] = None) -> None:
    """Train from `run.position` to the end, an observer's word, or a signal.

    `partial`: gradients of a step cut short.
    """
    settings, trainee, stepper, watch = run.settings, run.trainee, run.stepper, run.stopwatch
    device, source = trainee.device, run.prepared.source
    depth = settings.prefetch if settings.prefetch >= 0 else (2 if device.type == "cuda" else 0)
    pin = device.type == "cuda" and depth > 0
    step_loss = _restore_partial(run, partial)
    items = feed.steps(source, run.position, run.epochs, pin)
    with _quiet_garbage(), _signals() as stop, feed.ahead(items, depth) as ready:
        watch.edge()
        for position, batches in ready:
            watch.mark("data")
            divisor = sum(batch.weight for batch in batches)
            for micro, batch in enumerate(batches):
                if micro < position.micro:
                    continue  # already in the restored gradients
                batch = batch.to(device)
                watch.mark("copy")
                loss = run.task.loss(trainee, batch, settings, 1.0 / divisor)
                watch.mark("forward")
                stepper.scaled(loss).backward()
                watch.mark("backward")
                step_loss = step_loss + loss.detach()
                run.position = Position(position.step, position.epoch, position.index, micro + 1)
                if stop and micro + 1 < len(batches):
                    break
            if stop and run.position.micro < len(batches):
                break
            norm, bad = stepper.step(learning_rate(position.step, run.total_steps, settings))
            watch.mark("optimizer")
            run.history.add(position.step, step_loss, norm, bad)
            step_loss = torch.zeros((), device=device)
            if settings.sync_every_step:
                run.history.read()
            run.tokens += sum(batch.real for batch in batches)
            run.position = feed.after(position, source.steps_in(position.epoch))
            every = settings.checkpoint_every
            due = run.position.index == 0 if every < 0 else every > 0 and run.position.step % every == 0
            if run.saver and due:
                checkpoint(run, step_loss)
                watch.mark("checkpoint")
            done = [observer(Counts.of(batches), run) for observer in observers]
            watch.mark("other")
            if any(done) or stop or (settings.max_steps and run.position.step >= settings.max_steps):
                break
        run.interrupted = bool(stop)
    run.history.read()
    if run.saver:
        checkpoint(run, step_loss)
        run.saver.wait()


def checkpoint(run: Run, step_loss: torch.Tensor) -> None:
    """Everything needed to go on to the same bits: weights, optimizer, random states, position, and gradients in the
    making.
    """
    tensors: Tensors = {
        "model": {name: p for name, p in run.trainee.model.named_parameters() if p.requires_grad},
        "optimizer": run.stepper.tensors(),
        "random": randomness.tensors(run.trainee.device),
    }
    if run.position.micro:
        grads = {name: p.grad for name, p in run.trainee.model.named_parameters() if p.grad is not None}
        tensors["gradients"] = {**grads, "loss so far": step_loss}
    state = {
        "schema": 1,
        "identity": run.prepared.identity,
        "position": asdict(run.position),
        "tokens": run.tokens,
        "random": randomness.state(),
    }
    assert run.saver is not None
    run.saver.save(folder_name(run.position.step, run.position.micro), tensors, state)


def restore(run: Run, state: Dict[str, Any], tensors: Tensors) -> Optional[Dict[str, torch.Tensor]]:
    """Put a checkpoint's content back; returns the gradients of a step cut short, if there are any."""
    parameters = dict(run.trainee.model.named_parameters())
    with torch.no_grad():
        for name, value in tensors["model"].items():
            parameters[name].copy_(value)
    run.stepper.restore(tensors["optimizer"])
    run.position = Position(**state["position"])
    run.tokens = state.get("tokens", 0)
    randomness.restore(run.trainee.device, state["random"], tensors["random"])
    return tensors.get("gradients")


def _restore_partial(run: Run, partial: Optional[Dict[str, torch.Tensor]]) -> torch.Tensor:
    device = run.trainee.device
    if not partial:
        return torch.zeros((), device=device)
    for name, parameter in run.trainee.model.named_parameters():
        if name in partial:
            parameter.grad = partial[name].to(device, copy=True)
    return partial["loss so far"].to(device)


@contextmanager
def _quiet_garbage() -> Iterator[None]:
    """Python's cycle collector pauses for hundreds of milliseconds in a process with a large model; steps make no
    cycles.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


@contextmanager
def _signals() -> Iterator[List[int]]:
    """A list that gets the number of a SIGTERM or SIGINT; a second one acts as it would have without us."""
    caught: List[int] = []
    previous: Dict[int, Any] = {}

    def note(number: int, frame: Any) -> None:  # noqa: ARG001 - signal's own signature
        caught.append(number)
        signal.signal(number, previous[number])

    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            previous[number] = signal.signal(number, note)
    except ValueError:
        pass  # not the main thread: whoever runs us there handles signals
    try:
        yield caught
    finally:
        for caught_number, handler in previous.items():
            signal.signal(caught_number, handler)
