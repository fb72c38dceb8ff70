"""The hooks into torch: waits for a DataLoader's batch, backward passes, optimizer steps; and when to write the record.

Nothing here may ever stop the training: an error inside a hook ends the measuring, and is told in the record.
"""

from __future__ import annotations

import functools
import os
import threading
import time

from .batches import Batches
from .clock import Clock
from .lines import Lines
from .process_state import Contention, describe, describe_loader
from .record_file import RecordFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

WINDOW_SECONDS = {"cpu": 0.5, "cuda": 2.0}  # a window's edge waits for the GPU: seldom enough to cost nothing
MOST_WINDOWS = 1000  # then pairs are joined and windows become twice as long
FOREIGN_STEPS = 20  # steps of another optimizer without one of the counted: that one is counted from then on


class Watcher:
    """What has been seen in this process. Only marks of the training thread count."""

    def __init__(self, torch: Any, folder: str) -> None:
        self.torch = torch
        self.file = RecordFile(folder)
        self.clock = Clock(torch)
        self.part = "other"  # what the training thread is doing now
        self.lines = Lines(lambda: self.part)
        self.enabled = True
        self.state: dict[str, Any] = {"device": {"type": "unknown", "name": ""}}
        self._fresh()

    def _fresh(self) -> None:
        self.thread = threading.main_thread().ident
        self.pid = os.getpid()
        self.batches = Batches(self.torch)
        self.contention = Contention()
        self.windows: list[dict[str, Any]] = []
        self.steps = 0
        self.first_step_after = 0.0
        self.loaders: dict[int, dict[str, Any]] = {}
        self.waits = 0
        self.error: str | None = None
        self._began = time.perf_counter()
        self._counted: Any = None  # id of the optimizer whose steps are the steps
        self._others: dict[int, int] = {}
        self._window_steps = 0
        self._longer = 1.0
        self._depth = 0

    # What the hooks call, in the order of a step.

    def data_begins(self) -> bool:
        """True when this wait counts: the outermost one, in the training thread."""
        if not self.enabled or threading.get_ident() != self.thread:
            return False
        self._depth += 1
        if self._depth > 1:
            return False
        self._enter(self.part, "data")
        return True

    def data_ended(self, counted: bool, batch: Any) -> None:
        if not self.enabled or threading.get_ident() != self.thread:
            return
        self._depth = max(self._depth - 1, 0)
        if counted:
            self._enter("data", "forward")
            if batch is not None:
                self.waits += 1
                self.batches.look(batch)

    def backward_begins(self) -> None:
        if self.enabled and threading.get_ident() == self.thread:
            self._enter("forward", "backward")

    def backward_ended(self) -> None:
        if self.enabled and threading.get_ident() == self.thread:
            self._enter("backward", "other")

    def step_begins(self) -> None:
        if self.enabled and threading.get_ident() == self.thread:
            # Between backward and step stand clipping and unscaling: the optimizer's own business.
            self._enter("optimizer" if self.part == "other" and self.steps else self.part, "optimizer")

    def step_ended(self, optimizer: Any) -> None:
        if not self.enabled:
            return
        if self.steps == 0 and self._counted is None:
            self.thread = threading.get_ident()
        if threading.get_ident() != self.thread:
            return
        self._enter("optimizer", "other")
        if self._is_counted(id(optimizer)):
            self._step(optimizer)

    def _enter(self, finished: str, begun: str) -> None:
        self.clock.mark(finished)
        self.part = begun

    def _is_counted(self, optimizer: int) -> bool:
        """One optimizer's steps are the run's steps, however many there are: the first, as long as it is used."""
        if self._counted is None or self._others.get(optimizer, 0) >= FOREIGN_STEPS:
            self._counted = optimizer
        if optimizer == self._counted:
            self._others.clear()
            return True
        self._others[optimizer] = self._others.get(optimizer, 0) + 1
        return False

    def _step(self, optimizer: Any) -> None:
        self.steps += 1
        if self.steps == 1:
            self.first_step_after = time.perf_counter() - self._began
            self.state = describe(self.torch, optimizer)
            self.contention.begin()
            self.clock.restart()  # the first step holds imports, compilation and first-use costs
            self.file.at_exit(self.record)
            if os.environ.get("ENVDOCTOR_MEASURED_RUN_LINES") != "0":
                self.lines.start(self.thread or 0)
            self.file.write(self.record(None))
            return
        self._window_steps += 1
        device = "cuda" if self.state["device"]["type"] == "cuda" else "cpu"
        if self.clock.age() >= WINDOW_SECONDS[device] * self._longer:
            self._close_window()

    def _close_window(self) -> None:
        wall, parts = self.clock.edge()
        self.windows.append({"steps": self._window_steps, "seconds": wall, "breakdown": parts})
        self._window_steps = 0
        if len(self.windows) >= MOST_WINDOWS:
            self.windows = [_joined(self.windows[n], self.windows[n + 1]) for n in range(0, MOST_WINDOWS - 1, 2)]
            self._longer *= 2.0
        if self.file.due():
            self.file.write(self.record(None))

    def record(self, ended: str | None) -> dict[str, Any]:
        """Everything seen so far. ``ended``: how the process ended, None while it runs (or if it was killed)."""
        if ended and not self.windows and self._window_steps and self.state["device"]["type"] == "cpu":
            wall, parts = self.clock.so_far()
            self.windows.append({"steps": self._window_steps, "seconds": wall, "breakdown": parts})
        found = {
            "schema": 1,
            "steps": self.steps,
            "seconds": time.perf_counter() - self._began,
            "first_step_after": self.first_step_after,
            "windows": self.windows,
            "waits": self.waits,
            "loaders": list(self.loaders.values()),
            "batches": self.batches.found(),
            "lines": self.lines.found(),
            "contention": self.contention.found(),
            "ended": ended,
            "error": self.error,
        }
        found.update(self.state)
        return found

    def failed(self, error: BaseException) -> None:
        """A hook raised: stop measuring, remember why."""
        self.enabled = False
        self.error = f"{type(error).__name__}: {error}"
        self.file.write(self.record(None))

    def forked(self) -> None:
        """In the child of a fork: a loader worker (never steps), or a training process of its own (starts anew)."""
        self.lines.reset()
        self.clock.restart()
        self.file.forked()
        self.part = "other"
        self._fresh()


def _joined(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    parts = {part: first["breakdown"][part] + second["breakdown"][part] for part in first["breakdown"]}
    steps, seconds = first["steps"] + second["steps"], first["seconds"] + second["seconds"]
    return {"steps": steps, "seconds": seconds, "breakdown": parts}


def begin(torch: Any, folder: str) -> None:
    """Put the hooks into a freshly imported torch."""
    watcher = Watcher(torch, folder)
    try:
        _watch_loaders(watcher)
        _watch_backward(torch, watcher)
        _watch_optimizers(watcher)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=watcher.lines.fork_begins,
                after_in_parent=watcher.lines.fork_ended,
                after_in_child=watcher.forked,
            )
    except Exception as error:  # noqa: BLE001 - a torch of another shape is not measured; the program runs as ever
        watcher.failed(error)


def _guarded(watcher: Watcher, call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except Exception as error:  # noqa: BLE001 - see the head of this module
        watcher.failed(error)
        return None


def _watch_loaders(watcher: Watcher) -> None:
    from torch.utils.data import dataloader

    base, loader = dataloader._BaseDataLoaderIter, dataloader.DataLoader
    next_batch, new_iterator = base.__next__, loader.__iter__

    @functools.wraps(next_batch)
    def timed_next(self: Any) -> Any:
        counted = _guarded(watcher, watcher.data_begins)
        batch = None
        try:
            batch = next_batch(self)
            return batch
        finally:
            _guarded(watcher, watcher.data_ended, counted, batch)

    @functools.wraps(new_iterator)
    def timed_iter(self: Any) -> Any:
        counted = _guarded(watcher, watcher.data_begins)
        try:
            return new_iterator(self)
        finally:
            _guarded(watcher, watcher.data_ended, counted, None)
            if counted:
                _guarded(watcher, lambda: watcher.loaders.setdefault(id(self), describe_loader(self)))

    _keep_out_of_graphs(timed_next, timed_iter)
    base.__next__ = timed_next
    loader.__iter__ = timed_iter


def _watch_backward(torch: Any, watcher: Watcher) -> None:
    backward = torch.autograd.backward

    @functools.wraps(backward)
    def timed_backward(*arguments: Any, **options: Any) -> Any:
        _guarded(watcher, watcher.backward_begins)
        try:
            return backward(*arguments, **options)
        finally:
            _guarded(watcher, watcher.backward_ended)

    _keep_out_of_graphs(timed_backward)
    torch.autograd.backward = timed_backward


def _watch_optimizers(watcher: Watcher) -> None:
    from torch.optim import optimizer as optimizers

    def before(*_: Any) -> None:
        _guarded(watcher, watcher.step_begins)

    def after(optimizer: Any, *_: Any) -> None:
        _guarded(watcher, watcher.step_ended, optimizer)

    _keep_out_of_graphs(before, after)
    optimizers.register_optimizer_step_pre_hook(before)
    optimizers.register_optimizer_step_post_hook(after)


def _keep_out_of_graphs(*functions: Callable[..., Any]) -> None:
    """What torch.compile meets of these it calls, and does not trace."""
    for function in functions:
        vars(function)["_torchdynamo_disable"] = True
