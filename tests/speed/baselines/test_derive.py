import math
from dataclasses import replace

import pytest

from envdoctor.speed.baselines.derive import derive
from envdoctor.speed.report import Device
from envdoctor.speed.verdict import judge
from tests.speed.making import PROBES, baseline, chip, report


def test_the_same_chip_derives_itself_with_some_doubt() -> None:
    found = derive(chip("NVIDIA H100"), [baseline()], "chat-135m", "cu130")
    assert found is not None
    assert found.conditions["factor"] == 1.0
    assert found.evidence == "derived"
    assert found.conditions["spread"] == 0.1


def test_a_100_is_slower_by_compute_and_bandwidth() -> None:
    found = derive(chip("NVIDIA A100-SXM4-80GB"), [baseline()], "chat-135m", "cu130")
    assert found is not None
    compute, memory = 271.2 / 794.5, 2039 / 3350
    assert compute < found.conditions["factor"] < memory
    assert found.conditions["spread"] > 0.1
    assert "NVIDIA H100 80GB HBM3" in found.source
    assert "0.34x" in found.source


def test_the_nearest_chip_is_taken() -> None:
    far = replace(baseline(30.0), gpu="NVIDIA B200")
    near = replace(baseline(10.0), gpu="NVIDIA H100 80GB HBM3")
    found = derive(chip("NVIDIA H200"), [far, near], "chat-135m", "cu130")
    assert found is not None
    assert "H100" in found.source
    assert 10.0 < found.windows[0][0] < 12.0


@pytest.mark.parametrize("name", ["NVIDIA L4", "Tesla T4"])
def test_too_far_is_not_derived(name: str) -> None:
    # an L4 has an eighth of the compute; a T4 has no bf16 at all
    assert derive(chip(name), [baseline()], "chat-135m", "cu130") is None


def test_only_measured_baselines_of_the_workload_count() -> None:
    claimed = replace(baseline(), evidence="claimed", windows=(), steps_per_second=9.0)
    assert derive(chip("NVIDIA H200"), [claimed, baseline(workload="chat-30m")], "chat-135m", "cu130") is None


def test_a_run_is_judged_by_a_derived_baseline_with_a_wider_interval() -> None:
    found = derive(chip("NVIDIA H200"), [baseline()], "chat-135m", "cu130")
    assert found is not None
    expected = found.windows[0][0]
    device = Device(type="cuda", name="NVIDIA H200", cpu_model="x", threads=8, cores=8)
    fine = judge([report(expected * 0.98, device=device, probes=PROBES)], found)
    assert (fine.word, fine.evidence) == ("as-expected", "derived")
    assert fine.comparison is not None
    assert math.log(fine.comparison.interval[1] / fine.comparison.interval[0]) > 0.5
    assert judge([report(expected * 0.5, device=device, probes=PROBES)], found).word == "slower"
    between = judge([report(expected * 0.78, device=device, probes=PROBES)], found)
    assert (between.word, between.evidence) == ("as-expected", "derived")
    assert 0.4 < (between.resolution or 0.0) <= 0.5


def test_another_lock_is_not_claimed_for_another_stack() -> None:
    found = derive(chip("NVIDIA H200"), [baseline()], "chat-135m", "cu128")
    assert found is not None
    assert found.stack == "cu128"
    assert found.lock is None
