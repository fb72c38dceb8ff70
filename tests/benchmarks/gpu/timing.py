"""How long a piece of device work takes: by CUDA events on a GPU, by the clock on a CPU."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Timed:
    """Seconds of one call: median, quartiles, and how many were timed. `first` is the very first call, compilation
    and planning included.
    """

    median: float
    low: float
    high: float
    count: int
    first: float

    def as_row(self) -> Any:
        """Milliseconds, for the results file."""
        names = ("median", "low", "high", "first")
        return {**{name + "_ms": round(1e3 * getattr(self, name), 5) for name in names}, "count": self.count}


def seconds_of(
    call: Callable[[], Any], device: torch.device, least: int = 10, budget: float = 0.3, warmup: int = 3
) -> Timed:
    """Time `call` at least `least` times or until `budget` seconds are spent, after `warmup` calls.

    On CUDA each repetition is between two events and the host runs ahead, so launch gaps count only where the device
    really waits for the host. Between repetitions nothing is flushed: training reuses its buffers as well.
    """
    wait(device)
    begun = time.perf_counter()
    call()
    wait(device)
    first = time.perf_counter() - begun
    for _ in range(warmup):
        call()
    wait(device)
    found: list[float] = []
    ends = time.perf_counter() + budget
    while len(found) < least or (time.perf_counter() < ends and len(found) < 1000):
        found += _some(call, device, 5)
        if first > 1.0 and sum(found) > budget:
            break  # a very slow variant need not be timed ten times
    low, median, high = statistics.quantiles(found, n=4) if len(found) > 1 else found * 3
    return Timed(median, low, high, len(found), first)


def wait(device: torch.device) -> None:
    """Until the device has done all that it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _some(call: Callable[[], Any], device: torch.device, count: int) -> list[float]:
    if device.type != "cuda":
        marks = [time.perf_counter()]
        for _ in range(count):
            call()
            marks.append(time.perf_counter())
        return [after - before for before, after in zip(marks, marks[1:])]
    events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    events[0].record()
    for event in events[1:]:
        call()
        event.record()
    torch.cuda.synchronize(device)
    return [before.elapsed_time(after) / 1e3 for before, after in zip(events, events[1:])]


def distance(found: Any, reference: Any) -> float:
    """||found - reference|| / ||reference|| in float64 on the CPU; infinite where a value is not finite."""
    left, right = found.detach().double().cpu(), reference.detach().double().cpu()
    if not bool(torch.isfinite(left).all()):
        return float("inf")
    return float((left - right).norm() / right.norm().clamp_min(1e-30))
