"""What has been seen in one training process: steps, windows, waits; and when to write the record."""

from __future__ import annotations

import os
import threading
import time
from threading import get_ident

from .batches import Batches
from .clock import Clock
from .lines import Lines
from .process_state import Contention, describe
from .products import formats
from .record_file import RecordFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WINDOW_SECONDS = {"cpu": 0.5, "cuda": 2.0}  # a window's edge waits for the GPU: seldom enough to cost nothing
MOST_WINDOWS = 1000  # then pairs are joined and windows become twice as long
STOP = "ENVDOCTOR_MEASURED_RUN_STOP"  # the step after which each training process ends
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
        self.stop_after = int(os.environ.get(STOP) or 0)
        self.stopped = False
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
        self.products: dict[str, int] = {}
        self.error: str | None = None
        self._began = time.perf_counter()
        self._counted: Any = None  # id of the optimizer whose steps are the steps
        self._others: dict[int, int] = {}
        self._window_steps = 0
        self._window = WINDOW_SECONDS["cpu"]
        self._depth = 0

    # What the hooks call, in the order of a step. All of it together takes about 10 microseconds per step.

    def data_begins(self) -> bool:
        """True when this wait counts: the outermost one, in the training thread."""
        if not self.enabled or get_ident() != self.thread:
            return False
        self._depth += 1
        if self._depth > 1:
            return False
        self.clock.mark(self.part)
        self.part = "data"
        return True

    def data_ended(self, counted: bool, batch: Any) -> None:
        if not self.enabled or get_ident() != self.thread:
            return
        self._depth = max(self._depth - 1, 0)
        if counted:
            self.clock.mark("data")
            self.part = "forward"
            if batch is not None:
                self.waits += 1
                self.batches.look(batch)

    def backward_begins(self, tensors: Any) -> None:
        if self.enabled and get_ident() == self.thread:
            self.clock.mark("forward")
            self.part = "backward"
            if not self.products and self.steps <= 1:
                self.products = formats(tensors)

    def backward_ended(self) -> None:
        if self.enabled and get_ident() == self.thread:
            self.clock.mark("backward")
            self.part = "other"

    def step_begins(self) -> None:
        if self.enabled and get_ident() == self.thread:
            # Between backward and step stand clipping and unscaling: the optimizer's own business.
            self.clock.mark("optimizer" if self.part == "other" and self.steps else self.part)
            self.part = "optimizer"

    def step_ended(self, optimizer: Any) -> None:
        if not self.enabled:
            return
        if self.steps == 0 and self._counted is None:
            self.thread = get_ident()
        if get_ident() != self.thread:
            return
        self.clock.mark("optimizer")
        self.part = "other"
        if self._is_counted(id(optimizer)):
            self._step(optimizer)

    def _is_counted(self, optimizer: int) -> bool:
        """One optimizer's steps are the run's steps, however many there are: the first, as long as it is used."""
        if self._counted is None or self._others.get(optimizer, 0) >= FOREIGN_STEPS:
            self._counted = optimizer
        if optimizer == self._counted:
            if self._others:
                self._others.clear()
            return True
        self._others[optimizer] = self._others.get(optimizer, 0) + 1
        return False

    def _step(self, optimizer: Any) -> None:
        self.steps += 1
        if self.steps == 1:
            self.first_step_after = time.perf_counter() - self._began
            self.state = describe(self.torch, optimizer)
            self._window = WINDOW_SECONDS["cuda" if self.state["device"]["type"] == "cuda" else "cpu"]
            self.contention.begin()
            self.file.at_exit(self.record)
            if os.environ.get("ENVDOCTOR_MEASURED_RUN_LINES") != "0":
                self.lines.start(self.thread or 0)
            self.file.write(self.record(None))
            self.clock.restart()  # the first step holds imports, compilation, first-use costs, and what stands above
            return
        self._window_steps += 1
        last = self.steps == self.stop_after
        if self.clock.age() >= self._window or (last and not self.windows):
            self._close_window()
        if last:
            self.stopped = True
            self.file.write(self.record("stopped"))

    def _close_window(self) -> None:
        wall, parts = self.clock.edge()
        self.windows.append({"steps": self._window_steps, "seconds": wall, "breakdown": parts})
        self._window_steps = 0
        if len(self.windows) >= MOST_WINDOWS:
            self.windows = [_join(self.windows[n], self.windows[n + 1]) for n in range(0, MOST_WINDOWS - 1, 2)]
            self._window *= 2.0
        if self.file.due():
            self.file.write(self.record(None))

    def record(self, ended: str | None) -> dict[str, Any]:
        """Everything seen so far. ``ended``: how the process ended, None while it runs (or if it was killed)."""
        if self.stopped:
            ended = "stopped"
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
            "products": self.products,
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


def _join(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    parts = {part: first["breakdown"][part] + second["breakdown"][part] for part in first["breakdown"]}
    steps, seconds = first["steps"] + second["steps"], first["seconds"] + second["seconds"]
    return {"steps": steps, "seconds": seconds, "breakdown": parts}
