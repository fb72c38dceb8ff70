"""The step clock: on the host, and on a GPU's time line (a model of one: host and device run beside each other)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.speed.measured_run import launch


@pytest.fixture(scope="module")
def clock_module() -> Iterator[Any]:
    sys.path.insert(0, str(launch.INJECTED))
    import _envdoctor_measured_run.clock as clock  # type: ignore[import-not-found]

    yield clock
    sys.path.remove(str(launch.INJECTED))


@dataclass
class Machine:
    """A host with a clock, and a device that works through its queue."""

    now: float = 100.0
    busy_until: float = 0.0
    cuda: Any = field(init=False)
    is_cuda: bool = True

    def __post_init__(self) -> None:
        machine = self

        class Event:
            def __init__(self, enable_timing: bool) -> None:
                assert enable_timing
                self.at = 0.0

            def record(self) -> None:
                self.at = max(machine.now, machine.busy_until)

            def elapsed_time(self, later: Event) -> float:
                return 1e3 * (later.at - self.at)

        class Cuda:
            Event: Any

            @staticmethod
            def is_initialized() -> bool:
                return machine.is_cuda

            @staticmethod
            def is_current_stream_capturing() -> bool:
                return False

            @staticmethod
            def synchronize() -> None:
                machine.now = max(machine.now, machine.busy_until)

        Cuda.Event = Event
        self.cuda = Cuda

    def host(self, seconds: float) -> None:
        self.now += seconds

    def kernel(self, seconds: float) -> None:
        self.now += 1e-5
        self.busy_until = max(self.now, self.busy_until) + seconds


def started(clock_module: Any, monkeypatch: pytest.MonkeyPatch, *, cuda: bool) -> tuple[Machine, Any]:
    machine = Machine(is_cuda=cuda)
    monkeypatch.setattr(clock_module.time, "perf_counter", lambda: machine.now)
    clock = clock_module.Clock(machine)
    clock.edge()  # on CUDA the first edge lays the origin
    return machine, clock


def test_on_the_host_every_mark_gets_what_passed(clock_module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    machine, clock = started(clock_module, monkeypatch, cuda=False)
    for part, seconds in (("data", 0.2), ("forward", 0.3), ("backward", 0.5), ("data", 0.1)):
        machine.host(seconds)
        clock.mark(part)
    machine.host(0.4)
    wall, parts = clock.edge()
    assert wall == pytest.approx(1.5)
    assert parts["data"] == pytest.approx(0.3)
    assert parts["other"] == pytest.approx(0.4)
    assert sum(parts.values()) == pytest.approx(wall)


@pytest.mark.parametrize(("preparing", "idle"), [(0.02, 0.0), (0.05, 0.0), (0.3, 0.25)])
def test_a_wait_counts_only_as_far_as_the_gpu_runs_dry(
    clock_module: Any, monkeypatch: pytest.MonkeyPatch, preparing: float, idle: float
) -> None:
    machine, clock = started(clock_module, monkeypatch, cuda=True)
    machine.kernel(0.05)
    clock.mark("forward")
    machine.host(preparing)  # the host makes the next batch while the kernels run
    clock.mark("data")
    machine.kernel(0.05)
    clock.mark("forward")
    wall, parts = clock.edge()
    assert parts["data"] == pytest.approx(idle, abs=1e-3)
    assert parts["forward"] == pytest.approx(0.1, abs=1e-3)
    assert sum(parts.values()) == pytest.approx(wall, rel=1e-6)


moves = st.lists(
    st.tuples(st.sampled_from(["data", "forward", "backward", "optimizer", "other"]), st.floats(0, 1), st.floats(0, 1)),
    max_size=30,
)


@given(moves, moves, st.booleans())
def test_parts_always_add_up_to_the_wall_time(
    clock_module: Any, first: list[Any], second: list[Any], cuda: bool
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        machine, clock = started(clock_module, monkeypatch, cuda=cuda)
        for window in (first, second):
            for part, host, device in window:
                machine.host(host)
                if cuda:
                    machine.kernel(device)
                clock.mark(part)
            wall, parts = clock.edge()
            assert sum(parts.values()) == pytest.approx(wall, abs=1e-6)
            assert min(parts.values()) >= -1e-9


def test_a_very_long_window_falls_back_to_the_host(clock_module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_module, "MOST_EVENTS", 4)
    machine, clock = started(clock_module, monkeypatch, cuda=True)
    for _ in range(20):
        machine.host(0.01)
        machine.kernel(0.01)
        clock.mark("forward")
    wall, parts = clock.edge()
    assert sum(parts.values()) == pytest.approx(wall, rel=1e-6)
    assert len(clock._events) == 0
