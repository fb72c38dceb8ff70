"""A GPU is throttled, capped or shared only while it works: looks at it in a run go into the facts that judge it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from envdoctor.facts import Facts, Gpu, Gpus, Unavailable
from envdoctor.speed.conditions import of_clock, of_facts
from envdoctor.speed.gpu_watch import merged, unsteady_clock
from envdoctor.speed.verdict import judge
from envdoctor.watching import look_now, watched
from tests.speed.making import baseline, report, target

IDLE = Gpu(
    index=0, name="NVIDIA H100 80GB HBM3", power_limit=700.0, power_default=700.0, sm_clock=345, sm_clock_max=1980,
    throttle_reasons=("idle",), processes=0, utilization=0,
)  # fmt: skip
WORKING = replace(IDLE, sm_clock=1755, throttle_reasons=(), processes=1, utilization=98, power_draw=650.0)


def facts(gpu: Gpu = IDLE) -> Facts:
    return Facts(gpus=Gpus(devices=(gpu,)))


def seen(*looks: Gpu) -> Gpu:
    gpus = merged(facts(), looks).gpus
    assert not isinstance(gpus, Unavailable)
    return gpus.devices[0]


def test_our_own_training_is_no_neighbour() -> None:
    assert seen(WORKING, WORKING).processes == 0
    assert seen(WORKING, replace(WORKING, processes=3)).processes == 2


def test_the_clock_is_that_of_the_working_chip() -> None:
    found = seen(IDLE, WORKING, WORKING, replace(WORKING, sm_clock=1740))
    assert (found.sm_clock, found.power_draw) == (1755, 650.0)
    assert found.throttle_reasons == ()


@pytest.mark.parametrize(("hot", "of", "named"), [(1, 10, False), (2, 10, True), (10, 10, True)])
def test_a_throttle_reason_counts_when_it_is_seen_often(hot: int, of: int, named: bool) -> None:
    looks = [replace(WORKING, throttle_reasons=("hw-thermal",))] * hot + [WORKING] * (of - hot)
    assert ("hw-thermal" in (seen(*looks).throttle_reasons or ())) is named


def test_without_looks_or_gpus_facts_stay_as_they_are() -> None:
    assert merged(facts(), []) == facts()
    nothing = Facts(gpus=Unavailable(reason="no driver"))
    assert merged(nothing, [WORKING]) == nothing


CASES: list[tuple[dict[str, Any], str, str]] = [
    ({"throttle_reasons": ("sw-thermal",)}, "unstable", "slows itself down"),
    ({"processes": 2}, "unstable", "1 other process used"),
    ({"power_limit": 500.0}, "not-comparable", "power limit is 500 W"),
]


@pytest.mark.parametrize(("change", "word", "said"), CASES, ids=[c[2] for c in CASES])
def test_what_happened_to_the_gpu_makes_a_slow_run_unjudged_not_slower(
    change: dict[str, Any], word: str, said: str
) -> None:
    base = baseline(10.0)
    slow = [report(8.5)] * 3
    plain = judge(slow, base, target=target(), facts=merged(facts(), [WORKING] * 5))
    assert plain.word == "slower"
    disturbed = judge(slow, base, target=target(), facts=merged(facts(), [replace(WORKING, **change)] * 5))
    assert disturbed.word == word
    assert any(said in reason for reason in disturbed.reasons)


def test_a_wandering_clock_is_unstable() -> None:
    steady = [replace(WORKING, sm_clock=clock) for clock in (1755, 1740, 1755, 1755)]
    wandering = [replace(WORKING, sm_clock=clock) for clock in (1980, 1384, 1755, 1200)]
    assert (unsteady_clock(steady) or 1.0) < 0.01
    assert unsteady_clock(wandering[:2]) is None
    assert not list(of_clock(unsteady_clock(steady)))
    assert [o.word for o in of_clock(unsteady_clock(wandering))] == ["unstable"]
    slow = judge([report(8.5)] * 3, baseline(10.0), target=target(), clock_spread=unsteady_clock(wandering))
    assert slow.word == "unstable"
    assert not list(of_facts(None, "cuda", None))


def test_the_watch_looks_while_the_body_runs_and_stops_after_it() -> None:
    with watched(facts(), every=0.01, look=lambda: [WORKING]) as looks:
        deadline = time.monotonic() + 10.0
        while len(looks) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
    count = len(looks)
    assert count >= 3
    time.sleep(0.05)
    assert len(looks) == count


@pytest.mark.parametrize("given", [None, Facts(gpus=Unavailable(reason="no driver")), Facts(gpus=Gpus(devices=()))])
def test_without_a_gpu_nothing_is_started(given: Facts | None) -> None:
    def never() -> list[Gpu]:
        raise AssertionError("looked")

    with watched(given, every=0.001, look=never) as looks:
        time.sleep(0.02)
    assert looks == []


def test_a_real_look_answers_in_time_whatever_the_driver_does() -> None:
    assert all(gpu.name for gpu in look_now())  # empty where there is no driver
