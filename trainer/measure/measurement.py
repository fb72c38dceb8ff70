"""Where the time of a step goes, when the run has warmed up, and windows of equal work.

The stopwatch gives every instant to exactly one part of the step, so the parts add up to the wall time. On CUDA the
marks are events in the stream, read only at window edges: measuring does not make the host wait.
"""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass, field
from typing import Any

import torch

from trainer.data.counts import Counts
from trainer.measure.pace import Pace
from trainer.measure.protocol import Protocol
from trainer.measure.turns import Turns
from trainer.report import Warmup, Window

PARTS = ("data", "copy", "forward", "backward", "optimizer", "checkpoint", "other")
TURNS_AFTER = ("forward", "backward", "optimizer")
"""Parts after which another run may have the machine, where two take turns on CPUs: neighbours on a core come and
go within tens of milliseconds, and what does not change between two turns cancels out."""


class Stopwatch:
    """Contiguous marks: `mark(part)` gives the time since the last mark to `part`.

    Off (`on`), where nobody reads it, it keeps nothing: events that no edge takes up would gather without end.
    """

    def __init__(self, device: torch.device) -> None:
        self.on = True
        self.turns: Turns | None = None
        self._cuda = device.type == "cuda"
        self._events: list[tuple[str, Any]] = []
        self._free: list[Any] = []  # events of earlier edges, to be recorded anew
        self._parts = dict.fromkeys(PARTS, 0.0)
        self._last = self._start = time.perf_counter()
        if self._cuda:
            self._origin = self._event()

    def _event(self) -> Any:
        event = self._free.pop() if self._free else torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def mark(self, part: str) -> None:
        if not self.on:
            return
        if self._cuda:
            self._events.append((part, self._event()))
            return
        now = time.perf_counter()
        self._parts[part] += now - self._last
        self._last = now
        if self.turns is not None and part in TURNS_AFTER:
            self.turns.after_part()
            waited = time.perf_counter() - now
            self._start += waited
            self._last += waited

    def take_turns(self, turns: Turns) -> None:
        """From now on another run has the machine after parts of a step; on CUDA, where a part's end would have to be
        waited for, whoever reads the edges does that. Starts anew."""
        self.turns = None if self._cuda else turns
        self.edge()

    def edge(self) -> tuple[float, dict[str, float]]:
        """(wall seconds, seconds by part) since the previous edge; waits for the device, then starts anew."""
        self.mark("other")
        if self._cuda:
            # Up to the last mark, and not the whole device: copies of a checkpoint in streams of their own go on.
            previous = self._origin
            if self._events:
                self._events[-1][1].synchronize()
            for part, event in self._events:
                self._parts[part] += previous.elapsed_time(event) / 1e3
                self._free.append(previous)
                previous = event
            self._origin, self._events = previous, []
        now = time.perf_counter()
        wall, parts = now - self._start, self._parts
        self._parts, self._start, self._last = dict.fromkeys(PARTS, 0.0), now, now
        parts["other"] += max(0.0, wall - sum(parts.values()))
        return wall, parts


def steady_reason(seconds: list[float], tolerance: float, window_seconds: float) -> str | None:
    """Why the step times show a warmed-up run, or None. The first step (first-use costs) never counts.

    Steady is: the last ten step times lie within the tolerance, or the medians of two consecutive windows do.
    """
    times = seconds[1:]
    if len(times) >= 10:
        last = times[-10:]
        if (max(last) - min(last)) <= tolerance * statistics.median(last):
            return f"the last 10 step times differ by less than {100 * tolerance:g} %"
    if len(times) >= 6:
        size = max(3, math.ceil(window_seconds / statistics.median(times[-6:])))
        if len(times) >= 2 * size:
            newer, older = statistics.median(times[-size:]), statistics.median(times[-2 * size : -size])
            if abs(newer - older) <= tolerance * older:
                return (
                    f"the medians of two consecutive windows of {size} steps differ by less than {100 * tolerance:g} %"
                )
    return None


@dataclass
class Measurement:
    """Watches a run step by step: warm-up, then windows of a fixed number of steps, then the end.

    With a `pace` the machine's own is taken at the edges of each window, outside of its time. With `turns` another run
    has the machine in between, outside of its time, too.
    """

    protocol: Protocol
    stopwatch: Stopwatch
    pace: Pace | None = None
    turns: Turns | None = None
    warmup: Warmup | None = None
    windows: list[Window] = field(default_factory=list)
    measured_since: float = 0.0
    _times: list[float] = field(default_factory=list)
    _begun: float = field(default_factory=time.perf_counter)
    _last: float = field(default_factory=time.perf_counter)
    _cpu: float = 0.0
    _per_window: int = 1
    _steps: int = 0
    _counts: Counts = field(default_factory=Counts)
    _pace: float = 0.0
    _as_other: tuple[int, int] | None = None  # steps of warm-up and of a window that the other run took

    def start(self) -> None:
        """The first step is about to begin."""
        if self.turns is not None:
            self._as_other = self.turns.start()
        self.stopwatch.edge()
        self._begun = self._last = time.perf_counter()

    def after_step(self, counts: Counts) -> bool:
        """Takes note of a step; True when the measurement is complete."""
        if self.warmup is None:
            self.stopwatch.edge()
            now = time.perf_counter()
            self._times.append(now - self._last)
            self._last = now
            self._end_warmup_when_steady(now)
            return False
        self._steps += 1
        self._counts += counts
        if self._steps == self._per_window:
            wall, parts = self.stopwatch.edge()
            tokens = {"trained": self._counts.trained, "real": self._counts.real, "slots": self._counts.slots}
            squares = self._counts.squares
            window = Window(self._steps, wall, time.process_time() - self._cpu, tokens, squares, parts)
            before = self._pace
            if self._take_pace():
                window.pace = math.sqrt(before * self._pace)
            self.windows.append(window)
            self._cpu = time.process_time()
            self._steps, self._counts = 0, Counts()
        enough = len(self.windows) >= self.protocol.windows  # and only then are they summed up
        enough = enough and sum(window.seconds for window in self.windows) >= self.protocol.least_seconds
        enough = enough or time.perf_counter() - self.measured_since > self.protocol.max_seconds
        if self.turns is not None and enough:
            self.turns.end()
        elif self.turns is not None and self.stopwatch.turns is None and not self._steps:
            self.turns.next()
            self.stopwatch.edge()
            self._cpu = time.process_time()
        return enough

    def _end_warmup_when_steady(self, now: float) -> None:
        protocol, spent = self.protocol, now - self._begun
        if self._as_other is not None:
            steps, self._per_window = self._as_other
            if len(self._times) < steps:
                return
            reason: str | None = f"{steps} steps, as the run that it takes turns with"
        else:
            reason = steady_reason(self._times, protocol.warmup_tolerance, protocol.window_seconds)
            if reason is None and spent < protocol.max_warmup_seconds:
                return
            typical = statistics.median(self._times[-10:])
            self._per_window = max(1, math.ceil(protocol.window_seconds / typical))
        late = f"step times still moved after {spent:.1f} s"
        self.warmup = Warmup(len(self._times), spent, reason is not None, reason or late)
        if self.turns is not None:
            self.turns.warm(len(self._times), self._per_window)
            self.stopwatch.take_turns(self.turns)
        self._take_pace()
        self.measured_since, self._cpu = time.perf_counter(), time.process_time()

    def _take_pace(self) -> bool:
        """Between two windows; the stopwatch starts anew after it. False where no pace is taken."""
        if self.pace is None:
            return False
        self._pace = self.pace()
        self.stopwatch.edge()
        return True


def total(windows: list[Window]) -> Window:
    """All windows as one."""
    return Window(
        steps=sum(w.steps for w in windows),
        seconds=sum(w.seconds for w in windows),
        cpu_seconds=sum(w.cpu_seconds for w in windows),
        tokens={name: sum(w.tokens[name] for w in windows) for name in ("trained", "real", "slots")},
        squares=sum(w.squares for w in windows),
        breakdown={name: sum(w.breakdown[name] for w in windows) for name in PARTS},
    )
