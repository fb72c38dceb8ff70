"""The modelled step: parts that add up, probes that count, and chips of which too little is known."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from envdoctor.knowledge import gpus
from envdoctor.knowledge.work import Work, work_of
from envdoctor.launch.trainer import Measure
from envdoctor.speed.dense import Decoder, step_work
from envdoctor.speed.evidence.modelled_step import usual_format
from envdoctor.speed.modelled import expected_step, rates_of_chip, rates_of_probes
from envdoctor.speed.timing import FEWER_WINDOWS
from tests.speed.making import chip

H100 = gpus.board("H100")
assert H100 is not None


def work(workload: str, precision: str = "bfloat16") -> Work:
    found = work_of(workload, precision)
    assert found is not None
    return found


def test_parts_add_up_and_shares_to_one() -> None:
    found = expected_step(work("chat-135m"), chip("H100"))
    assert math.isclose(sum(found.parts.values()), found.seconds)
    assert math.isclose(sum(found.shares.values()), 1.0)


@pytest.mark.parametrize("name", ["A100-SXM4-80GB", "H100", "H200", "B200", "RTX 4090", "RTX 5090", "L40S", "T4", "L4"])
@pytest.mark.parametrize("workload", ["chat-135m", "chat-1b"])
def test_workloads_are_bound_by_the_gpu_on_every_chip_with_a_target(name: str, workload: str) -> None:
    form = "bfloat16" if "bfloat16" in chip(name).peak else "float16"
    assert expected_step(work(workload, form), chip(name)).parts["launches"] == 0.0


def test_wrong_formats_slow_memory_and_slow_units_are_seen_in_their_part() -> None:
    usual = expected_step(work("chat-1b"), chip("H100"))
    wide = expected_step(work("chat-1b", "float32"), chip("H100"))
    assert wide.parts["products"] > 5 * usual.parts["products"]
    rates = rates_of_chip(chip("H100"))
    slow = expected_step(work("chat-1b"), replace(rates, bandwidth=rates.bandwidth / 2))
    assert math.isclose(slow.parts["memory"], 2 * usual.parts["memory"])
    assert slow.parts["products"] == usual.parts["products"]


def test_probes_replace_the_chips_own_figures() -> None:
    sound = {"matmul_bf16_median_gflops": 0.875 * 794.5e3, "copy_gbs": 0.895 * 3350, "launch_us": 1 / 4.0}
    found = expected_step(work("chat-135m"), rates_of_probes(sound, chip("H100")))
    assert math.isclose(found.seconds, expected_step(work("chat-135m"), chip("H100")).seconds, rel_tol=1e-3)
    half = expected_step(work("chat-135m"), rates_of_probes({**sound, "copy_gbs": 1500.0}, chip("H100")))
    assert half.seconds > 1.3 * found.seconds


def test_a_slow_host_makes_the_card_wait() -> None:
    probes = {"launch_us": 1 / 40.0}
    found = expected_step(work("chat-30m"), rates_of_probes(probes, chip("H100")))
    assert found.shares["launches"] > 0.5


def test_a_chip_without_figures_is_refused() -> None:
    with pytest.raises(ValueError, match="R100"):
        expected_step(work("chat-135m"), chip("R100"))


def test_a_format_without_a_unit_is_refused() -> None:
    with pytest.raises(ValueError, match="fp8"):
        expected_step(replace(work("chat-135m"), products={"fp8": 1e12}), chip("A100"))


SHAPES = {
    "chat-30m": Decoder(layers=9, width=512, heads=8, kv_heads=4, inner=1408, vocabulary=2048),
    "chat-135m": Decoder(layers=30, width=576, heads=9, kv_heads=3, inner=1536, vocabulary=49152),
    "chat-1b": Decoder(layers=16, width=2048, heads=32, kv_heads=8, inner=8192, vocabulary=128256),
}


@pytest.mark.parametrize("name", SHAPES)
def test_work_by_shape_is_what_counting_operators_finds(name: str) -> None:
    """The shape is what users' own models are modelled by."""
    counted = work(name)
    found = step_work(SHAPES[name], tokens=counted.tokens, squares=counted.squares, trained=counted.trained)
    assert math.isclose(found.products["bfloat16"], counted.products["bfloat16"], rel_tol=0.01)
    assert math.isclose(found.attention, counted.attention, rel_tol=0.01)
    assert math.isclose(found.bytes, counted.bytes, rel_tol=0.10)
    assert math.isclose(found.parameters, counted.parameters, rel_tol=0.01)
    assert math.isclose(found.launches, counted.launches, rel_tol=0.25)


CHECK, START, PROFILE = 4.0, 12.0, 2.0
"""Seconds of a check with torch, of the trainer until its first step, and of the profile for the card's idle share."""
PROBES = 2 * (9 * 0.25 + 1.5)  # before and after: nine short ones and the training's own products (trainer/measure)
WARM_UP = 12  # steps: ten alike after the first
TARGETS = {
    "h100": "H100", "h200": "H200", "a100": "A100", "b200": "B200", "l40s": "L40S", "rtx4090": "RTX 4090",
    "rtx3090": "RTX 3090", "rtx5090": "RTX 5090", "v100": "V100", "l4": "L4", "t4": "T4",
}  # fmt: skip


@pytest.mark.parametrize("name", TARGETS)
def test_preflight_has_looked_at_card_and_step_within_a_minute(name: str) -> None:
    """By count, for nobody has timed it: one process decides without a baseline."""
    measure, model = Measure(windows=FEWER_WINDOWS), chip(TARGETS[name])
    step = expected_step(work("chat-135m", usual_format(model)), model).seconds
    windows = measure.windows * max(measure.window_seconds, step)
    total = CHECK + START + PROBES + min(WARM_UP * step, measure.max_warmup_seconds) + windows + PROFILE
    assert total < 60.0, f"{total:.0f} s, a step is {step:.2f} s"
