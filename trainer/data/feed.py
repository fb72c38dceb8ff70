"""Steps in order from a position, prepared ahead in a thread when that helps."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from trainer.data import loader
from trainer.data.source import Source
from trainer.options.settings import Settings
from trainer.report import Choice


@dataclass(frozen=True)
class Position:
    """Where a run stands: the next step of an epoch, and how many of its micro-batches are already in the gradients.

    step: optimizer steps done in all.
    """

    step: int = 0
    epoch: int = 0
    index: int = 0
    micro: int = 0


Item = tuple[Position, Sequence[Any]]


def positions(source: Source, start: Position, epochs: int) -> Iterator[Position]:
    """Every step from `start` to the end of the last epoch."""
    step, index = start.step, start.index
    for epoch in range(start.epoch, epochs):
        for current in range(index, source.steps_in(epoch)):
            micro = start.micro if (epoch, current) == (start.epoch, start.index) else 0
            yield Position(step, epoch, current, micro)
            step += 1
        index = 0


def steps(source: Source, start: Position, epochs: int, pin: bool) -> Iterator[Item]:
    """(position, micro-batches) of every step from `start` to the end of the last epoch."""
    for position in positions(source, start, epochs):
        batches = source.step(position.epoch, position.index)
        yield position, [batch.pinned() for batch in batches] if pin else batches


@dataclass(frozen=True)
class LoadingMachine:
    """What decides who makes batches: whether a GPU computes, and the cores that do not compute."""

    cuda: bool = False
    spare_cores: int = 0


@contextmanager
def items(
    source: Source, start: Position, epochs: int, settings: Settings, machine: LoadingMachine, choices: list[Choice]
) -> Iterator[Iterator[Item]]:
    """The steps from `start` to the end of the last epoch, prepared ahead as the settings and the machine ask.

    Where the number of loader workers is left open, the first steps are made in the loop and timed; what is decided
    then is added to `choices`.
    """
    depth = settings.prefetch if settings.prefetch >= 0 else (2 if machine.cuda else 0)
    # Where each step follows from the one before it, several makers would each make all of them.
    workers = 0 if source.in_order else settings.loader_workers
    if workers > 0:
        yield loader.in_processes(source, positions(source, start, epochs), workers, machine.cuda)
        return
    made = steps(source, start, epochs, machine.cuda and depth > 0)
    with ahead(made, 0 if workers < 0 else depth) as ready:
        yield ready if workers == 0 else _watch(source, epochs, ready, depth, machine, choices)


def _watch(
    source: Source, epochs: int, ready: Iterator[Item], depth: int, machine: LoadingMachine, choices: list[Choice]
) -> Iterator[Item]:
    watch = loader.LoaderWatch(lambda: next(ready, None), torch.cuda.synchronize if machine.cuda else None)
    last: Position | None = None
    for _ in range(loader.WATCHED):
        item = watch.take()
        if item is None:
            return
        last = item[0]
        yield item
    decision = watch.decision(machine.spare_cores, thread=depth > 0)
    choices.append(Choice("loader-workers", str(decision.workers), decision.reason))
    if decision.workers and last is not None:
        left = positions(source, after(last, source.steps_in(last.epoch)), epochs)
        yield from loader.in_processes(source, left, decision.workers, machine.cuda)
        return
    with ahead(ready, depth) as rest:
        yield from rest


@contextmanager
def ahead(items: Iterator[Item], depth: int) -> Iterator[Iterator[Item]]:
    """`items`, prepared up to `depth` steps ahead by a thread; depth 0 prepares each when it is asked for."""
    if depth == 0:
        yield items
        return
    ready: queue.Queue[Any] = queue.Queue(depth)
    closed = threading.Event()

    def put(item: Any) -> None:
        while not closed.is_set():
            try:
                ready.put(item, timeout=0.1)
                return
            except queue.Full:
                continue

    def work() -> None:
        try:
            for item in items:
                put((item, None))
                if closed.is_set():
                    return
            put((None, None))
        except BaseException as error:  # noqa: BLE001 - raised again in the training thread
            put((None, error))

    def drain() -> Iterator[Item]:
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is None:
                return
            yield item

    thread = threading.Thread(target=work, name="feed", daemon=True)
    thread.start()
    try:
        yield drain()
    finally:
        closed.set()
        thread.join()


def after(position: Position, steps_in_epoch: int) -> Position:
    """The position that follows a finished step."""
    if position.index + 1 < steps_in_epoch:
        return Position(position.step + 1, position.epoch, position.index + 1)
    return Position(position.step + 1, position.epoch + 1, 0)
