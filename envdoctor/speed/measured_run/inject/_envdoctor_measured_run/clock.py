"""The time of a step, cut into parts without gaps: each mark gives what passed since the last one to a part.

On CUDA the marks are events in the stream, read only at a window's edge: the parts are then the GPU's time line, and
"data" is how long the GPU stood idle for want of data, not how long the host looked for some.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PARTS = ("data", "copy", "forward", "backward", "optimizer", "checkpoint", "other")
MOST_EVENTS = 20000  # of one window; beyond, its marks are taken from the host's clock


class Clock:
    """Marks of one process. ``edge`` closes a window and returns its wall seconds and its parts."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._events: list[tuple[str, Any]] = []
        self._spare: list[Any] = []
        self._origin: Any = None
        self._parts = dict.fromkeys(PARTS, 0.0)
        self._last = self._start = time.perf_counter()

    def mark(self, part: str) -> None:
        now = time.perf_counter()
        if self._origin is not None and len(self._events) < MOST_EVENTS and not self._capturing():
            self._events.append((part, self._event()))
        else:
            self._parts[part] += now - self._last
        self._last = now

    def age(self) -> float:
        """Seconds since the window began, by the clock of the last mark."""
        return self._last - self._start

    def edge(self) -> tuple[float, dict[str, float]]:
        """Close the window: (wall seconds, seconds by part). Waits for the GPU, which happens nowhere else."""
        if self._on_cuda():
            self._torch.cuda.synchronize()
        now = time.perf_counter()
        wall, parts = now - self._start, self._parts
        if self._origin is not None:
            previous = self._origin
            for part, event in self._events:
                parts[part] += previous.elapsed_time(event) / 1e3
                self._spare.append(previous)
                previous = event
            self._events, self._origin = [], previous
        elif self._on_cuda():
            self._origin = self._event()
        total = sum(parts.values())
        if total > wall > 0.0:  # two clocks: the event clock may run ahead by a rounding
            parts = {part: seconds * wall / total for part, seconds in parts.items()}
        else:
            parts["other"] += wall - total
        self._parts = dict.fromkeys(PARTS, 0.0)
        self._start = self._last = now
        return wall, parts

    def so_far(self) -> tuple[float, dict[str, float]]:
        """The window as it stands on the host's clock: for a run that ends before its first window is complete."""
        wall = self.age()
        parts = dict(self._parts)
        parts["other"] += max(wall - sum(parts.values()), 0.0)
        return wall, parts

    def restart(self) -> None:
        """Forget the window so far: the time before the first step, or of the parent of a forked process."""
        self._parts = dict.fromkeys(PARTS, 0.0)
        self._events, self._origin = [], None
        self._start = self._last = time.perf_counter()

    def _event(self) -> Any:
        event = self._spare.pop() if self._spare else self._torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def _on_cuda(self) -> bool:
        return bool(self._torch.cuda.is_initialized())

    def _capturing(self) -> bool:
        return bool(self._torch.cuda.is_current_stream_capturing())
