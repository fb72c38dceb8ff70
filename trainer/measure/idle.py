"""How much of the time the GPU does nothing: from one short profiled window, taken after the timed ones.

A step that waits for its host shows a GPU "utilisation" of 100 %, since that counts any kernel in a sample. What is
counted here is the time in which at least one kernel or copy runs: the union of their intervals.

The profiler slows the host, not the kernels. So the busy time of a step is taken from the profiled window, and the
length of a step from the timed windows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable

import torch

STEPS = 5  # profiled steps: a few tens of thousands of kernels, some MB of events

Interval = tuple[float, float]


def union(intervals: Iterable[Interval]) -> float:
    """Length covered by at least one of the (start, end) intervals, in their unit; empty and negative ones count 0."""
    covered, reached = 0.0, float("-inf")
    for start, end in sorted(intervals):
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered


def device_intervals(events: Iterable[Any], device_type: Any) -> list[Interval]:
    """(start, end) in seconds of what ran on that kind of device, from the profiler's events.

    Ranges that only name a span of the stream (record_function, profiler steps) are no work.
    """
    found = []
    for event in events:
        if event.device_type != device_type or getattr(event, "is_user_annotation", False):
            continue
        if event.name.startswith("ProfilerStep"):
            continue
        found.append((event.time_range.start / 1e6, event.time_range.end / 1e6))
    return found


def share(intervals: list[Interval], steps: int, step_seconds: float) -> dict[str, Any]:
    """The report's `gpu_idle` of so many profiled steps, whose length is known from the timed windows."""
    busy = union(intervals) / steps
    return {
        "share": max(0.0, 1.0 - busy / step_seconds),
        "busy_seconds_per_step": busy,
        "work_seconds_per_step": sum(end - start for start, end in intervals) / steps,  # more: streams overlap
        "pieces_per_step": len(intervals) / steps,
        "steps": steps,
    }


def profile_steps(steps: Callable[[int], int], step_seconds: float, device: torch.device) -> dict[str, Any] | None:
    """Profile a few steps on CUDA: `steps(n)` trains n of them and says how many it did. None on a CPU.

    Where the profiler cannot see the device (no CUPTI, counters forbidden), `share` is None and `reason` says so.
    """
    if device.type != "cuda":
        return None
    torch.cuda.synchronize(device)
    try:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            done = steps(STEPS)
            torch.cuda.synchronize(device)
        intervals = device_intervals(profile.events(), torch.autograd.DeviceType.CUDA)
    except RuntimeError as error:
        return {"share": None, "reason": f"the profiler failed: {error}"}
    if not intervals or not done:
        return {"share": None, "reason": "the profiler saw no kernel: CUPTI is missing or its counters are forbidden"}
    return share(intervals, done, step_seconds)
