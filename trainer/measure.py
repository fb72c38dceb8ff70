"""Where the time of a step goes, when the run has warmed up, and windows of equal work.

The stopwatch gives every instant to exactly one part of the step, so the parts add up to the wall time. On CUDA the
marks are events in the stream, read only at window edges: measuring does not make the host wait.
"""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

import torch

from trainer.pace import Pace
from trainer.protocol import Protocol

PARTS = ("data", "copy", "forward", "backward", "optimizer", "checkpoint", "other")


@dataclass(frozen=True)
class Counts:
    """What one or more steps worked on. trained: predicted tokens; real: without padding; slots: with it.

    squares: sum of squared document lengths, which attention's cost follows.
    """

    trained: int = 0
    real: int = 0
    slots: int = 0
    documents: int = 0
    squares: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))

    @staticmethod
    def of(batches: Any) -> "Counts":
        """The counts of a step's micro-batches."""
        return sum(
            (Counts(b.trained, b.real, b.slots, len(b.documents), sum(n * n for n in b.documents)) for b in batches),
            Counts(),
        )


class Stopwatch:
    """Contiguous marks: `mark(part)` gives the time since the last mark to `part`."""

    def __init__(self, device: torch.device) -> None:
        self._cuda = device.type == "cuda"
        self._events: List[Tuple[str, Any]] = []
        self._parts = dict.fromkeys(PARTS, 0.0)
        self._last = self._start = time.perf_counter()
        if self._cuda:
            self._origin = self._event()

    def _event(self) -> Any:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def mark(self, part: str) -> None:
        if self._cuda:
            self._events.append((part, self._event()))
            return
        now = time.perf_counter()
        self._parts[part] += now - self._last
        self._last = now

    def edge(self) -> Tuple[float, Dict[str, float]]:
        """(wall seconds, seconds by part) since the previous edge; waits for the device, then starts anew."""
        self.mark("other")
        if self._cuda:
            torch.cuda.synchronize()
            previous = self._origin
            for part, event in self._events:
                self._parts[part] += previous.elapsed_time(event) / 1e3
                previous = event
            self._origin, self._events = previous, []
        now = time.perf_counter()
        wall, parts = now - self._start, self._parts
        self._parts, self._start, self._last = dict.fromkeys(PARTS, 0.0), now, now
        parts["other"] += max(0.0, wall - sum(parts.values()))
        return wall, parts


def settled(seconds: List[float], tolerance: float, window_seconds: float) -> Optional[str]:
    """Why the step times show a warmed-up run, or None. The first step (first-use costs) never counts.

    Steady is: the last ten step times lie within the tolerance, or the medians of two consecutive windows do.
    """
    times = seconds[1:]
    if len(times) >= 10:
        last = times[-10:]
        if (max(last) - min(last)) <= tolerance * statistics.median(last):
            return "the last 10 step times differ by less than %g %%" % (100 * tolerance)
    if len(times) >= 6:
        size = max(3, math.ceil(window_seconds / statistics.median(times[-6:])))
        if len(times) >= 2 * size:
            newer, older = statistics.median(times[-size:]), statistics.median(times[-2 * size : -size])
            if abs(newer - older) <= tolerance * older:
                return "the medians of two consecutive windows of %d steps differ by less than %g %%" % (
                    size,
                    100 * tolerance,
                )
    return None


@dataclass
class Measurement:
    """Watches a run step by step: warm-up, then windows of a fixed number of steps, then the end.

    With a `pace` the machine's own is taken at the edges of each window, outside of its time.
    """

    protocol: Protocol
    stopwatch: Stopwatch
    pace: Optional[Pace] = None
    warmup: Optional[Dict[str, Any]] = None
    windows: List[Dict[str, Any]] = field(default_factory=list)
    measured_since: float = 0.0
    _times: List[float] = field(default_factory=list)
    _begun: float = field(default_factory=time.perf_counter)
    _last: float = field(default_factory=time.perf_counter)
    _cpu: float = 0.0
    _per_window: int = 1
    _steps: int = 0
    _counts: Counts = Counts()
    _pace: float = 0.0

    def start(self) -> None:
        """The first step is about to begin."""
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
            cpu = time.process_time()
            window = {
                "steps": self._steps,
                "seconds": wall,
                "cpu_seconds": cpu - self._cpu,  # of this process: tells a busy machine from slow code
                "tokens": tokens,
                "squares": squares,
                "breakdown": parts,
            }
            if self.pace is not None:
                before = self._pace
                self._take_pace()
                window["pace"] = math.sqrt(before * self._pace)
            self.windows.append(window)
            self._cpu = time.process_time()
            self._steps, self._counts = 0, Counts()
        enough = len(self.windows) >= self.protocol.windows
        return enough or time.perf_counter() - self.measured_since > self.protocol.max_seconds

    def _end_warmup_when_steady(self, now: float) -> None:
        protocol, spent = self.protocol, now - self._begun
        reason = settled(self._times, protocol.warmup_tolerance, protocol.window_seconds)
        if reason is None and spent < protocol.max_warmup_seconds:
            return
        late = "step times still moved after %.1f s" % spent
        self.warmup = {
            "steps": len(self._times),
            "seconds": spent,
            "steady": reason is not None,
            "reason": reason or late,
        }
        typical = statistics.median(self._times[-10:])
        self._per_window = max(1, math.ceil(protocol.window_seconds / typical))
        if self.pace is not None:
            self._take_pace()
        self.measured_since, self._cpu = time.perf_counter(), time.process_time()

    def _take_pace(self) -> None:
        """Between two windows; the stopwatch starts anew after it."""
        if self.pace is not None:
            self._pace = self.pace()
            self.stopwatch.edge()


def total(windows: List[Dict[str, Any]]) -> Dict[str, Any]:
    """Seconds, steps, tokens and breakdown (seconds) summed over windows."""
    return {
        "seconds": sum(w["seconds"] for w in windows),
        "steps": sum(w["steps"] for w in windows),
        "squares": sum(w["squares"] for w in windows),
        "tokens": {name: sum(w["tokens"][name] for w in windows) for name in ("trained", "real", "slots")},
        "breakdown": {name: sum(w["breakdown"][name] for w in windows) for name in PARTS},
    }
