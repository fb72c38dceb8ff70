"""The card against its kind, without any baseline: sound, power-capped, in the wrong slot, at half its memory clock.

Chips are rows of the table; a sound one gives the middle of each band. What ails a card is put into the probes and into
what NVML reads while it works, as the ailment would show there.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from envdoctor.facts.model import Facts, Gpu, Gpus
from envdoctor.knowledge import gpus
from envdoctor.speed.evidence.card import LANE, LEAST_ACHIEVABLE, SHORT, card_of
from envdoctor.speed.evidence.working_gpu import facts_while_working
from envdoctor.speed.outcome import Verdict
from envdoctor.speed.report import Report, Warmup
from envdoctor.speed.verdict import judge
from tests.speed.making import baseline, report, target
from tests.speed.making import chip as model_of

CHIPS = (
    "H100 80GB HBM3", "H100 PCIe", "H200", "B200", "A100-SXM4-80GB", "A100-PCIE-40GB", "L40S", "L4", "A10G",
    "RTX A6000", "GeForce RTX 4090", "GeForce RTX 3090", "GeForce RTX 4060", "Tesla T4", "Tesla V100-SXM2-32GB",
)  # fmt: skip


def format_of(model: gpus.GpuModel) -> str:
    return "bfloat16" if "bfloat16" in model.peak else "float16"


def link_of(model: gpus.GpuModel) -> tuple[int, int]:
    generation, lanes = (model.link or "3x16").split("x")
    return int(generation), int(lanes)


def sound(name: str) -> tuple[dict[str, float], Gpu]:
    """Probes in the middle of their bands, and the card at work in a slot as wide and fast as itself."""
    model = model_of(name)
    precision, (generation, lanes) = format_of(model), link_of(model)
    peak = model.peak[precision]
    best = model.achievable if model.achievable and precision == "bfloat16" else peak * LEAST_ACHIEVABLE
    assert model.bandwidth is not None
    probes = {
        f"matmul_{SHORT[precision]}_gflops": 880.0 * best,
        f"matmul_{SHORT[precision]}_median_gflops": 850.0 * best,
        "copy_gbs": 0.9 * model.bandwidth,
        "pinned_to_device_gbs": 0.85 * LANE[generation] * lanes,
        "device_to_pinned_gbs": 0.85 * LANE[generation] * lanes,
        "launch_us": 4.5,
        "python_mops": 20.0,
    }
    power = model.power or 250.0
    chip = Gpu(
        index=0, name=model.printed, power_limit=power, power_default=power, power_draw=0.9 * power, sm_clock=1500,
        sm_clock_max=1980, memory_clock=2619, memory_clock_max=2619, utilization=98, throttle_reasons=(), processes=1,
        pcie_generation=generation, pcie_generation_max=generation, pcie_width=lanes, pcie_width_max=lanes,
    )  # fmt: skip
    return probes, chip


def run(name: str, probes: dict[str, float], **more: Any) -> Report:
    model = model_of(name)
    device = replace(report().device, name=model.printed, capability=model.capability)
    settings = {"precision": format_of(model)}
    return report(1.0, probes=probes, device=device, settings=settings, **more)


def resting(chip: Gpu) -> Facts:
    idle = replace(
        chip, sm_clock=210, memory_clock=405, utilization=0, pcie_generation=1, power_draw=30.0, processes=0,
        throttle_reasons=("idle",),
    )  # fmt: skip
    return Facts(gpus=Gpus(devices=(idle,)))


def judged(name: str, probes: dict[str, float], chip: Gpu, **more: Any) -> Verdict:
    done = run(name, probes, **more)
    seen = facts_while_working(resting(chip), [chip] * 4, done.device)
    return judge([done], None, target=target(), facts=seen)


@pytest.mark.parametrize("name", CHIPS)
def test_a_sound_card_is_as_fast_as_its_kind_and_the_step_stays_open(name: str) -> None:
    found = judged(name, *sound(name))
    assert (found.word, found.cause) == ("not-comparable", None)
    assert found.sentence.startswith("The card is as fast as its kind; the step itself cannot be judged: nobody")
    assert "baseline record" in found.next_step
    assert any("products" in reason for reason in found.reasons)


@pytest.mark.parametrize("name", CHIPS)
def test_a_power_cap_is_named_with_its_watts(name: str) -> None:
    probes, chip = sound(name)
    assert chip.power_default is not None
    capped = {
        key: value * (0.72 if "median" in key else 0.85 if "matmul" in key else 1.0) for key, value in probes.items()
    }
    found = judged(name, capped, replace(chip, power_limit=0.5 * chip.power_default))
    assert (found.word, found.cause) == ("slower", "machine")
    assert "power limit" in found.sentence
    assert f"{0.5 * chip.power_default:,.4g} of the {chip.power_default:,.4g} W" in found.sentence


@pytest.mark.parametrize("name", CHIPS)
def test_a_narrow_slot_is_named_with_its_lanes(name: str) -> None:
    probes, chip = sound(name)
    lanes = chip.pcie_width
    assert lanes is not None
    slow = {key: value / (lanes / 4) if "pinned" in key else value for key, value in probes.items()}
    found = judged(name, slow, replace(chip, pcie_width=4))
    assert (found.word, found.cause) == ("slower", "machine")
    assert f"4 of {lanes} lanes" in found.sentence


@pytest.mark.parametrize("name", CHIPS)
def test_half_the_memory_clock_shows_with_and_without_the_clock_itself(name: str) -> None:
    probes, chip = sound(name)
    slow = probes | {"copy_gbs": probes["copy_gbs"] / 2}
    found = judged(name, slow, replace(chip, memory_clock=1310))
    assert (found.word, found.cause) == ("slower", "machine")
    assert "memory clock: 1,310 of the 2,619 MHz" in found.sentence
    unread = judged(name, slow, replace(chip, memory_clock=None))
    assert unread.word == "slower"
    assert re.search(
        r"copies in its memory: .* GB/s that it is rated at \(0\.45; sound is 0\.85 to 0\.94\)", unread.sentence
    )


def test_a_powerless_card_shows_in_the_middle_of_the_products_not_in_their_best() -> None:
    """No power limit was read (a container without NVML): the arithmetic of the products remains."""
    probes, _ = sound("H100 80GB HBM3")
    probes["matmul_bf16_median_gflops"] = 430_000.0
    found = judge([run("H100 80GB HBM3", probes)], None, target=target())
    assert (found.word, found.cause) == ("slower", "machine")
    assert "bfloat16 products (the best one 699.2): 430 of the 794.5 TFLOP/s" in found.sentence


def test_a_slow_host_and_a_slow_link() -> None:
    probes, chip = sound("H100 80GB HBM3")
    slow_host = judged("H100 80GB HBM3", probes | {"launch_us": 21.0}, chip)
    assert slow_host.word == "slower"
    assert "launch takes 21.0 us" in slow_host.sentence
    moved = {key: 6.8 for key in probes if "pinned" in key}
    trained_down = judged("H100 80GB HBM3", probes | moved, replace(chip, pcie_generation=2))
    assert trained_down.word == "slower"
    assert "generation 2, where card and board can do 5" in trained_down.sentence


def test_figures_that_a_hypervisor_makes_up_are_not_believed() -> None:
    """One lane of the first generation, over which 50 GB/s went."""
    probes, chip = sound("H100 80GB HBM3")
    found = judged("H100 80GB HBM3", probes, replace(chip, pcie_generation=1, pcie_width=1))
    assert found.word == "not-comparable"
    assert "as fast as its kind" in found.sentence


def test_a_resting_card_is_not_judged_by_its_clocks() -> None:
    probes, chip = sound("GeForce RTX 4090")
    done = run("GeForce RTX 4090", probes)
    found = judge([done], None, target=target(), facts=resting(chip))
    assert "as fast as its kind" in found.sentence


def test_neighbours_on_the_card_leave_it_unjudged() -> None:
    probes, chip = sound("H100 80GB HBM3")
    probes["copy_gbs"] /= 2
    found = judged("H100 80GB HBM3", probes, replace(chip, processes=3))
    assert (found.word, found.cause) == ("not-comparable", "contention")


@pytest.mark.parametrize(
    ("name", "mig"), [("NVIDIA H100 80GB HBM3 MIG 1g.10gb", None), ("NVIDIA H100 80GB HBM3", True), ("NVIDIA X1", None)]
)
def test_a_part_of_a_card_or_an_unknown_one_is_not_held_against_the_whole(name: str, mig: bool | None) -> None:
    probes, chip = sound("H100 80GB HBM3")
    seen = Facts(gpus=Gpus(devices=(replace(chip, name=name, mig=mig),)))
    assert card_of(replace(report(probes=probes), device=replace(report().device, name=name)), seen) is None


def test_a_cpu_and_a_run_that_was_not_timed_have_no_card() -> None:
    probes, chip = sound("H100 80GB HBM3")
    assert card_of(report(probes=probes, device=replace(report().device, type="cpu")), None) is None
    found = judged("H100 80GB HBM3", probes, chip, windows=(), warmup=Warmup(), error={"message": "no memory"})
    assert "no memory" in " ".join(found.reasons)
    assert "its kind" not in found.sentence


def test_beside_a_baseline_a_short_card_explains_and_does_not_decide() -> None:
    probes, chip = sound("H100 80GB HBM3")
    del probes["launch_us"]
    short = probes | {"pinned_to_device_gbs": 13.0, "device_to_pinned_gbs": 13.0}
    good = report(10.0, probes=probes)
    seen = facts_while_working(resting(chip), [replace(chip, pcie_width=4)] * 4, good.device)
    alike = judge([report(10.0, probes=short)], baseline(like=good), target=target(), facts=seen)
    assert alike.word == "as-expected"
    slow = judge([report(8.0, probes=short)], baseline(like=good), target=target(), facts=seen)
    assert (slow.word, slow.cause) == ("slower", "machine")
    assert "4 of 16 lanes" in slow.sentence
