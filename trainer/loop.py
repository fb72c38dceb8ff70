"""The training loop. Everything that is the same for every task happens here, in the order it is written.

Nothing in it waits for the device between logs: batches are ready before they are asked for, losses and gradient
norms stay on the device until a later log, and a non-finite gradient is skipped by the optimizer kernel itself.
"""

from __future__ import annotations

import gc
import signal
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import torch

from trainer import feed, oom, randomness, sharding
from trainer.errors import TrainerError
from trainer.feed import Position
from trainer.history import History
from trainer.measure import Counts, Stopwatch
from trainer.model import Trainee
from trainer.optimizer import Stepper, learning_rate
from trainer.parallel import Group
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
    group: Group = field(default_factory=Group)
    saver: Optional[Saver] = None
    position: Position = field(default_factory=Position)
    epochs: int = 1
    interrupted: bool = False
    tokens: int = 0  # real tokens trained on, over all resumptions
    slots_limit: int = 0  # of what is computed at once, since memory ran out; 0: whole micro-batches
    say: Callable[[str], None] = print


def train(run: Run, observers: List[Observer], partial: Optional[Dict[str, torch.Tensor]] = None) -> None:
    """Train from `run.position` to the end, an observer's word, or a signal.

    `partial`: gradients of a step cut short.
    """
    settings, trainee, stepper, watch, group = run.settings, run.trainee, run.stepper, run.stopwatch, run.group
    device, source = trainee.device, run.prepared.source
    step_loss = torch.zeros((), device=device)
    with _quiet_garbage(), _signals() as stop, feed.items(run) as ready:
        watch.edge()
        for position, batches in ready:
            watch.mark("data")
            weight, counts = _of_all(group, batches)
            step_loss = gradients(run, position, batches, group.world / weight, partial, stop)
            if run.position.micro < len(batches):  # a signal: what is there so far is saved, too
                run.interrupted = True
                break
            partial = None
            group.reduce_gradients(trainee.model)
            norm, bad = stepper.step(learning_rate(position.step, run.total_steps, settings))
            watch.mark("optimizer")
            run.history.add(position.step, group.mean(step_loss), norm, bad)
            step_loss = torch.zeros((), device=device)
            if settings.sync_every_step:
                run.history.read()
            run.tokens += counts.real
            run.position = feed.after(position, source.steps_in(position.epoch))
            every = settings.checkpoint_every
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


def gradients(
    run: Run,
    position: Position,
    batches: Sequence[Any],
    scale: float,
    partial: Optional[Dict[str, torch.Tensor]],
    stop: Sequence[int],
) -> torch.Tensor:
    """Forward and backward passes of one step; returns its loss so far, on the device.

    Where memory runs out the step begins again in smaller pieces, with the same random states and the same result.
    """
    before = randomness.tensors(run.trainee.device)
    while True:
        try:
            return _accumulate(run, position, batches, scale, partial, stop)
        except (RuntimeError, MemoryError) as error:
            if not oom.is_out_of_memory(error):
                raise
            said = str(error).split("\n")[0]
        oom.shrink(run, batches, said)  # outside of `except`, which would keep the failed pass's tensors alive
        randomness.restore_torch(run.trainee.device, before)


def _accumulate(
    run: Run,
    position: Position,
    batches: Sequence[Any],
    scale: float,
    partial: Optional[Dict[str, torch.Tensor]],
    stop: Sequence[int],
) -> torch.Tensor:
    group, watch = run.group, run.stopwatch
    step_loss = _restore_partial(run, partial)
    for micro, batch in enumerate(batches):
        if micro < position.micro:
            continue  # already in the restored gradients
        for piece in oom.cut(batch, run.slots_limit):
            piece = piece.to(run.trainee.device)
            watch.mark("copy")
            with group.accumulating():
                loss = group.compute(run.task.loss, run.trainee, piece, run.settings, scale)
                watch.mark("forward")
                run.stepper.scaled(loss).backward()
            watch.mark("backward")
            step_loss = step_loss + loss.detach()
        run.position = Position(position.step, position.epoch, position.index, micro + 1)
        if stop and group.world == 1 and micro + 1 < len(batches):
            break  # several processes finish the step: they would first have to agree on where to stop
    return step_loss


def _of_all(group: Group, batches: Sequence[Any]) -> Tuple[float, Counts]:
    """What the step's loss is divided by, and what it works on, over all processes."""
    counts = Counts.of(batches)
    weight, *sums = group.exchange([sum(batch.weight for batch in batches), *asdict(counts).values()])
    return weight, Counts(*map(int, sums))


def checkpoint(run: Run, step_loss: torch.Tensor) -> None:
    """Everything needed to go on to the same bits: weights, optimizer, random states, position, and gradients in the
    making. The first process writes for all.
    """
    model, device = run.trainee.model, run.trainee.device
    trained = {name: sharding.whole(p.detach()) for name, p in model.named_parameters() if p.requires_grad}
    tensors: Tensors = {"model": trained, "optimizer": run.stepper.tensors(), "random": {}}
    states = run.group.gathered((randomness.state(), randomness.tensors(device)))
    for rank, (_, generators) in enumerate(states):
        tensors["random"].update({name + (".%d" % rank if rank else ""): t for name, t in generators.items()})
    if run.position.micro:
        grads = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
        tensors["gradients"] = {**grads, "loss so far": step_loss}
    state = {
        "schema": 1,
        "identity": run.prepared.identity,
        "position": asdict(run.position),
        "tokens": run.tokens,
        "random": states[0][0],
        "random_of_others": [plain for plain, _ in states[1:]],
        "processes": run.group.world,
        "slots_limit": run.slots_limit,
        "compiled": run.settings.compile == "on",
        "recompute": run.settings.recompute,
    }
    if run.saver is not None and run.group.first:
        run.saver.save(folder_name(run.position.step, run.position.micro), tensors, state)


def restore(run: Run, state: Dict[str, Any], tensors: Tensors) -> Optional[Dict[str, torch.Tensor]]:
    """Put a checkpoint's content back; returns the gradients of a step cut short, if there are any."""
    if state.get("processes", 1) != run.group.world:
        raise TrainerError(
            "other-world-size",
            "the checkpoint was written by %d processes, but this run has %d: the steps would be others"
            % (state.get("processes", 1), run.group.world),
            "Start as many processes as before, or set resume=never.",
        )
    parameters = dict(run.trainee.model.named_parameters())
    with torch.no_grad():
        for name, value in tensors["model"].items():
            sharding.own(parameters[name]).copy_(sharding.piece_like(value, parameters[name]))
    run.stepper.restore(tensors["optimizer"])
    run.position = Position(**state["position"])
    run.tokens = state.get("tokens", 0)
    run.slots_limit = state.get("slots_limit", 0)
    rank = run.group.rank
    plain = [state["random"], *state.get("random_of_others", [])][rank]
    ending = ".%d" % rank if rank else ""
    generators = {
        name: tensors["random"][name + ending] for name in ("cpu", "cuda") if name + ending in tensors["random"]
    }
    randomness.restore(run.trainee.device, plain, generators)
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
