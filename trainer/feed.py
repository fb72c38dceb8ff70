"""Steps in order from a position, prepared ahead in a thread when that helps."""

from __future__ import annotations

import queue
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Iterator, Sequence, Tuple

from trainer.batches import Source


@dataclass(frozen=True)
class Position:
    """Where a run stands: the next step of an epoch, and how many of its micro-batches are already in the gradients.

    step: optimizer steps done in all.
    """

    step: int = 0
    epoch: int = 0
    index: int = 0
    micro: int = 0


Item = Tuple[Position, Sequence[Any]]


def steps(source: Source, start: Position, epochs: int, pin: bool) -> Iterator[Item]:
    """(position, micro-batches) of every step from `start` to the end of the last epoch."""
    step, index = start.step, start.index
    for epoch in range(start.epoch, epochs):
        for current in range(index, source.steps_in(epoch)):
            batches = source.step(epoch, current)
            micro = start.micro if (epoch, current) == (start.epoch, start.index) else 0
            yield Position(step, epoch, current, micro), [batch.pinned() for batch in batches] if pin else batches
            step += 1
        index = 0


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
