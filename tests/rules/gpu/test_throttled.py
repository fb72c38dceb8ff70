from __future__ import annotations

import pytest

from envdoctor.rules.gpu.throttled import throttled
from tests.rules.cuda_machines import brief, gpu, gpus, machine, only
from tests.rules.judging import silent, skipped


@pytest.mark.parametrize("reason", ["hw-slowdown", "hw-thermal", "sw-thermal", "power-brake"])
def test_bad_reasons_under_load(reason: str) -> None:
    hot = gpus(
        gpu(0, throttle_reasons=("sw-power-cap", reason), utilization=100, sm_clock=510, sm_clock_max=1980),
        under_load=True,
    )
    found = only(throttled, machine(gpus=hot))
    assert (found.kind, found.who, found.actual) == ("gpu-limited", "host", reason)
    assert "510 of 1980 MHz" in found.message


@pytest.mark.parametrize("reason", ["idle", "app-clocks", "sw-power-cap", "sync-boost", "display-clocks"])
def test_normal_reasons(reason: str) -> None:
    assert silent(throttled, machine(gpus=gpus(gpu(0, throttle_reasons=(reason,), utilization=100), under_load=True)))


def test_at_rest_only_heat_and_the_brake_count() -> None:
    at_rest = gpus(gpu(0, throttle_reasons=("idle", "sw-thermal", "hw-slowdown")))
    assert silent(throttled, machine(gpus=at_rest))
    assert brief(throttled, machine(gpus=gpus(gpu(3, throttle_reasons=("hw-thermal",))))) == [
        "warning gpu-limited GPU 3"
    ]


def test_not_judged() -> None:
    assert skipped(throttled, machine())
