"""The GPU's idle share: interval arithmetic, and the profiler's events as torch really makes them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trainer.measure import idle

TRACE = Path(__file__).parent / "traces" / "two-streams.json"
spans = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 8)).map(lambda pair: (pair[0], pair[0] + pair[1])))


@pytest.mark.parametrize(
    ("intervals", "covered"),
    [
        ([], 0.0),
        ([(0, 1)], 1.0),
        ([(0, 1), (2, 4)], 3.0),
        ([(0, 4), (1, 2)], 4.0),  # one inside another: two streams
        ([(0, 2), (1, 3), (3, 4)], 4.0),
        ([(5, 6), (0, 1)], 2.0),  # events come in no order
        ([(1, 1), (3, 2)], 0.0),
    ],
)
def test_the_union_counts_every_instant_once(intervals: list[tuple[float, float]], covered: float) -> None:
    assert idle.union(intervals) == covered


@given(spans)
def test_the_union_is_what_counting_ticks_gives(intervals: list[tuple[int, int]]) -> None:
    ticks = {tick for start, end in intervals for tick in range(start, end)}
    assert idle.union(intervals) == len(ticks)


def event(name: str, start: float, end: float, device: Any = torch.autograd.DeviceType.CUDA) -> Any:
    return SimpleNamespace(name=name, device_type=device, time_range=SimpleNamespace(start=start, end=end))


def recorded() -> list[Any]:
    """Two steps of a chip with a compute and a copy stream, in the profiler's microseconds."""
    kinds = {"cpu": torch.autograd.DeviceType.CPU, "cuda": torch.autograd.DeviceType.CUDA}
    return [
        event(row["name"], row["ts"], row["ts"] + row["dur"], kinds[row["on"]]) for row in json.loads(TRACE.read_text())
    ]


def test_a_recorded_trace_of_two_streams() -> None:
    intervals = idle.device_intervals(recorded(), torch.autograd.DeviceType.CUDA)
    found = idle.share(intervals, steps=2, step_seconds=0.010)
    # Per step 6.0 ms of kernels and a copy of 1.0 ms, half of it beside a kernel: 6.5 ms of 10 are busy.
    assert found["busy_seconds_per_step"] == pytest.approx(0.0065)
    assert found["work_seconds_per_step"] == pytest.approx(0.0070)
    assert found["share"] == pytest.approx(0.35)
    assert found["pieces_per_step"] == 4


def test_a_profiler_that_slowed_the_host_does_not_make_the_gpu_idle() -> None:
    """Twice as far apart, as long: only the busy time comes from the profiled window."""
    apart = [event("gemm", 20_000 * n, 20_000 * n + 6_000) for n in range(5)]
    intervals = idle.device_intervals(apart, torch.autograd.DeviceType.CUDA)
    assert idle.share(intervals, 5, 0.008)["share"] == pytest.approx(0.25)


def test_a_busy_chip_is_never_less_than_not_idle() -> None:
    assert idle.share([(0.0, 1.0)], 1, 0.9)["share"] == 0.0


def test_the_events_of_the_real_profiler_are_read() -> None:
    """On a CPU the same code reads the operators' intervals: the work fits into the wall time, and fills most of it."""
    matrix = torch.randn(512, 512)
    with (
        torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile,
        torch.profiler.record_function("a span, no work of its own"),
    ):
        for _ in range(20):
            matrix @ matrix
    intervals = idle.device_intervals(profile.events(), torch.autograd.DeviceType.CPU)
    products = [e for e in profile.events() if e.name == "aten::mm"]
    assert len(products) == 20
    whole = max(end for _, end in intervals) - min(start for start, _ in intervals)
    assert 0.0 < idle.union(intervals) <= whole
    assert idle.union(intervals) >= idle.union([(e.time_range.start / 1e6, e.time_range.end / 1e6) for e in products])


def test_a_cpu_has_no_gpu_to_be_idle() -> None:
    def never(_: int) -> int:
        raise AssertionError("trained")

    assert idle.profile_steps(never, 0.1, torch.device("cpu")) is None
