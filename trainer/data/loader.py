"""Batches made by worker processes, where making them takes longer than the step leaves time for.

A step's batches follow from its position alone, so workers cannot change the data: any number of them gives the same
steps in the same order, and a run may change their number between two steps.
"""

from __future__ import annotations

import functools
import math
import multiprocessing
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Callable

import torch

from trainer.data.parent import end_with
from trainer.data.source import Source
from trainer.errors import TrainerError

WATCHED = 4  # steps from which the decision is made; the first of them, which warms caches up, does not count
NEGLIGIBLE = 0.02  # share of a step that is not worth a process
MOST = 8  # workers: beyond, hand-over and memory cost more than they bring (deit #81: 4 were right, 32 too many)


@dataclass(frozen=True)
class LoaderDecision:
    """How many worker processes make batches, and why."""

    workers: int
    reason: str


def decide(load: float, step: float, spare_cores: int, thread: bool) -> LoaderDecision:
    """Pure: workers for batches that take `load` seconds to make and `step` seconds to compute.

    spare_cores: those that do not compute; thread: does a thread make batches while a GPU computes?
    """
    text = f"making a batch takes {1e3 * load:.2g} ms, computing it {1e3 * step:.2g} ms"
    if load <= NEGLIGIBLE * step:
        return LoaderDecision(0, text)
    if thread and load <= 0.5 * step:  # half: the thread shares Python's lock with the loop
        return LoaderDecision(0, text + ": a thread hides it")
    if spare_cores < 1:
        return LoaderDecision(0, text + ", but every core computes: a worker would take as much as it gives")
    return LoaderDecision(min(spare_cores, math.ceil(load / max(step, 1e-9)) + 1, MOST), text)


class LoaderWatch:
    """Times the making of batches and what happens between them, for `decide`.

    wait: until a GPU has done what the host has queued; else the time of a step would be that of its launches.
    """

    def __init__(self, items: Callable[[], Any], wait: Callable[[], None] | None = None) -> None:
        self._next, self._left, self._wait = items, 0.0, wait
        self.loads: list[float] = []
        self.steps: list[float] = []

    def take(self) -> Any:
        """The next item; StopIteration at the end."""
        if self._left and self._wait is not None:
            self._wait()
        begun = time.perf_counter()
        if self._left:
            self.steps.append(begun - self._left)
        item = self._next()
        self._left = time.perf_counter()
        self.loads.append(self._left - begun)
        return item

    def decision(self, spare_cores: int, thread: bool) -> LoaderDecision:
        """From the medians of what was seen, the first step left out."""
        loads, steps = sorted(self.loads[1:]), sorted(self.steps[1:] or self.steps)
        return decide(loads[len(loads) // 2], steps[len(steps) // 2], spare_cores, thread)


class Made(torch.utils.data.Dataset):  # type: ignore[misc,unused-ignore]
    """position -> (position, batches), for a DataLoader."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __getitem__(self, position: Any) -> Any:
        try:
            return position, self.source.step(position.epoch, position.index)
        except TrainerError as error:
            return error  # the DataLoader would wrap it; it is raised in the training process


def in_processes(source: Source, positions: Iterator[Any], workers: int, pin: bool) -> Iterator[Any]:
    """(position, batches) for every position, in order, by `workers` processes, two items ahead each."""
    methods = multiprocessing.get_all_start_methods()
    loader = torch.utils.data.DataLoader(
        Made(source), sampler=positions, batch_size=None, num_workers=workers, prefetch_factor=2, collate_fn=_as_it_is,
        generator=torch.Generator(),  # the run's own generator must not notice how many workers there are
        multiprocessing_context="fork" if "fork" in methods else None,
        worker_init_fn=functools.partial(_begin, os.getpid()),
    )  # fmt: skip
    for item in loader:
        if isinstance(item, TrainerError):
            raise item
        position, batches = item
        yield position, [batch.pinned() for batch in batches] if pin else batches


def _begin(parent: int, _number: int) -> None:
    end_with(parent)


def _as_it_is(item: Any) -> Any:
    return item
