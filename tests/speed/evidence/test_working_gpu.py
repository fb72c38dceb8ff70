"""A GPU is throttled, capped or shared only while it works: readings at it in a run go into the facts that judge it."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from envdoctor.facts.model import Facts, Gpu, Gpus, Unavailable
from envdoctor.facts.scrub import identity
from envdoctor.speed.evidence.gpu import gpu_state
from envdoctor.speed.evidence.gpu_readings import gpu_readings, read_gpus, read_repeatedly
from envdoctor.speed.evidence.trained_gpu import trained_gpu
from envdoctor.speed.evidence.working_gpu import facts_while_working, unsteady_clock
from envdoctor.speed.verdict import judge
from tests.speed.making import baseline, report, target

IDLE = Gpu(
    index=0, name="NVIDIA H100 80GB HBM3", power_limit=700.0, power_default=700.0, sm_clock=345, sm_clock_max=1980,
    throttle_reasons=("idle",), processes=0, utilization=0,
)  # fmt: skip
DEVICE = report().device
WORKING = replace(IDLE, sm_clock=1755, throttle_reasons=(), processes=1, utilization=98, power_draw=650.0)


def facts(gpu: Gpu = IDLE) -> Facts:
    return Facts(gpus=Gpus(devices=(gpu,)))


def seen(*readings: Gpu) -> Gpu:
    gpus = facts_while_working(facts(), readings, DEVICE).gpus
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
    readings = [replace(WORKING, throttle_reasons=("hw-thermal",))] * hot + [WORKING] * (of - hot)
    assert ("hw-thermal" in (seen(*readings).throttle_reasons or ())) is named


def test_without_readings_or_gpus_facts_stay_as_they_are() -> None:
    assert facts_while_working(facts(), [], DEVICE) == facts()
    nothing = Facts(gpus=Unavailable(reason="no driver"))
    assert facts_while_working(nothing, [WORKING], DEVICE) == nothing


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
    plain = judge(slow, base, target=target(), facts=facts_while_working(facts(), [WORKING] * 5, DEVICE))
    assert plain.word == "slower"
    working = facts_while_working(facts(), [replace(WORKING, **change)] * 5, DEVICE)
    disturbed = judge(slow, base, target=target(), facts=working)
    assert disturbed.word == word
    assert any(said in reason for reason in disturbed.reasons)


def test_a_wandering_clock_is_unstable() -> None:
    steady = [replace(WORKING, sm_clock=clock) for clock in (1755, 1740, 1755, 1755)]
    wandering = [replace(WORKING, sm_clock=clock) for clock in (1980, 1384, 1755, 1200)]
    calm = unsteady_clock(steady, facts(), DEVICE)
    assert (calm or 1.0) < 0.01
    assert unsteady_clock(wandering[:2], facts(), DEVICE) is None
    assert judge([report(8.5)] * 3, baseline(10.0), target=target(), clock_spread=calm).word == "slower"
    restless = unsteady_clock(wandering, facts(), DEVICE)
    assert judge([report(8.5)] * 3, baseline(10.0), target=target(), clock_spread=restless).word == "unstable"
    assert not list(gpu_state(None, DEVICE, None))


FOUR = tuple(replace(IDLE, index=number, identity=f"card {number}") for number in range(4))
ON_CARD_3 = replace(DEVICE, identity="card 3")
FOUR_FACTS = Facts(gpus=Gpus(devices=FOUR), variables={"CUDA_VISIBLE_DEVICES": "3"})


def test_with_visible_devices_the_gpu_that_trained_is_judged_and_not_the_first() -> None:
    hot, idle = replace(FOUR[3], utilization=98, throttle_reasons=("hw-thermal",), sm_clock=900), FOUR[0]
    found = facts_while_working(FOUR_FACTS, [idle, hot] * 5, ON_CARD_3)
    assert not isinstance(found.gpus, Unavailable)
    assert found.gpus.devices[:3] == FOUR[:3]
    assert found.gpus.devices[3].throttle_reasons == ("hw-thermal",)
    on_card_1 = replace(DEVICE, identity="card 1")
    words = [judge([report(8.5, device=on)] * 3, baseline(10.0), facts=found).word for on in (ON_CARD_3, on_card_1)]
    assert words == ["unstable", "slower"]


@pytest.mark.parametrize(
    ("visible", "order", "names", "which"),
    [
        ("3", "", "HHHH", 3),
        ("GPU-card 2", "", "HHHH", 2),
        ("0", "", "HHHH", 0),
        ("1", "PCI_BUS_ID", "LHHL", 1),
        ("1", "", "LHHL", None),
        ("", "", "LLHL", 2),
        ("MIG-x", "", "HHHH", None),
    ],
)
def test_without_an_identity_the_variables_tell_the_gpu_where_they_can(
    visible: str, order: str, names: str, which: int | None
) -> None:
    gpus = tuple(
        replace(gpu, name=DEVICE.name if name == "H" else "NVIDIA L4") for gpu, name in zip(FOUR, names, strict=True)
    )
    variables = {"CUDA_VISIBLE_DEVICES": visible, "CUDA_DEVICE_ORDER": order}
    found = trained_gpu(Facts(gpus=Gpus(devices=gpus), variables=variables), DEVICE)
    assert (found.index if found else None) == which


def test_the_hash_of_a_uuid_is_the_one_that_facts_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the trainer writes of a card is what the NVML probe writes of it; there is no card here to ask."""
    hardware = pytest.importorskip("trainer.compute.hardware")
    uuid = "8f1c2c3e-aaaa-bbbb-cccc-0123456789ab"
    monkeypatch.setattr(hardware.torch.cuda, "get_device_properties", lambda device: SimpleNamespace(uuid=uuid))
    assert hardware.gpu_identity("cuda:0") == identity(f"GPU-{uuid}")


def test_readings_are_taken_while_the_body_runs_and_no_longer() -> None:
    with read_repeatedly(lambda: [WORKING], 0.01) as readings:
        deadline = time.monotonic() + 10.0
        while len(readings) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
    count = len(readings)
    assert count >= 3
    time.sleep(0.05)
    assert len(readings) == count


@pytest.mark.parametrize("given", [None, Facts(gpus=Unavailable(reason="no driver")), Facts(gpus=Gpus(devices=()))])
def test_without_a_gpu_nothing_is_started(given: Facts | None) -> None:
    before = threading.active_count()
    with gpu_readings(given) as readings:
        assert threading.active_count() == before
    assert readings == []


def test_a_real_look_answers_in_time_whatever_the_driver_does() -> None:
    assert all(gpu.name for gpu in read_gpus())  # empty where there is no driver
