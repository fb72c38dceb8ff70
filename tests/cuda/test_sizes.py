"""Models and lengths of real runs: floating-point operations against the trainer's formula, and memory against its
estimate and against the chip.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.cuda.chips import CHIPS
from tests.cuda.setups import SetUp, peaks, sizes
from trainer.model.peak import MARGIN

pytestmark = pytest.mark.cuda
ESTIMATE = (0.90, 1.10)
"""The peak over the trainer's estimate of it, where nothing else is known."""
OUTSIDE: dict[str, tuple[float, float]] = {}
"""The set-ups whose estimate is further off, and how far."""


def at_the_peak(answer: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """The step that needs most, and what the trainer expected of it, bytes."""
    assert answer["error"] is None, answer["error"]["at"]
    place = max(range(len(answer["steps"])), key=lambda step: answer["steps"][step]["peak"])
    return answer["steps"][place], answer["estimates"][place]


@pytest.mark.parametrize("set_up", sizes(), ids=lambda set_up: set_up.name)
def test_a_model_of_real_size(set_up: SetUp, run: Any, golden: Any) -> None:
    answer = run(set_up)
    most, estimate = at_the_peak(answer)
    last = answer["steps"][-1]
    ratio = most["peak"] / estimate
    golden("sizes").compare(
        set_up.name,
        {
            "kernels": last["kernels"], "flops_over_formula": round(last["flops"] / answer["formula"][-1], 2),
            "peak_GB": round(most["peak"] / 1e9, 2), "peak_over_estimate": round(ratio, 2),
        },
    )  # fmt: skip
    low, high = OUTSIDE.get(set_up.name, ESTIMATE)
    assert low <= ratio <= high


@pytest.mark.parametrize("set_up", peaks(), ids=lambda set_up: set_up.name)
def test_the_peak_is_near_the_estimate(set_up: SetUp, run: Any) -> None:
    most, estimate = at_the_peak(run(set_up))
    assert ESTIMATE[0] <= most["peak"] / estimate <= ESTIMATE[1]


@pytest.mark.parametrize(
    ("chip", "shape", "values"),
    [
        ("RTX 4090", "1b", {"precision": "bfloat16", "tokens_per_row": 8192}),
        ("RTX 4090", "135m", {"precision": "bfloat16", "tokens_per_row": 16384}),
        ("T4", "135m", {"tokens_per_row": 4096}),
    ],
)  # fmt: skip
def test_what_the_trainer_plans_by_itself_fits_the_chip(
    chip: str, shape: str, values: dict[str, Any], run: Any
) -> None:
    answer = run(SetUp("sft", {**values, "recompute": "auto"}, shape, chip=chip))
    assert at_the_peak(answer)[0]["peak"] < CHIPS[chip].memory, answer["choices"]["recompute"]


@pytest.mark.parametrize(
    ("chip", "shape", "values"),
    [
        ("RTX 4090", "1b", {"tokens_per_row": 8192}),
        ("H100", "8b", {"tokens_per_row": 16384, "lora_rank": 16}),
        ("RTX 4090", "8b", {"tokens_per_row": 8192, "lora_rank": 16}),
    ],
)  # fmt: skip
def test_a_short_memory_is_used_up_before_another_layer_is_recomputed(
    chip: str, shape: str, values: dict[str, Any], run: Any
) -> None:
    answer = run(SetUp("sft", {"precision": "bfloat16", **values, "recompute": "auto", "max_steps": 3}, shape, chip))
    most, estimate = at_the_peak(answer)
    again, _, layers, *_ = answer["choices"]["recompute"].split()
    assert 0 < int(again) < int(layers)
    assert "between products" in answer["choices"]["recompute"]
    assert ESTIMATE[0] <= most["peak"] / estimate <= ESTIMATE[1]
    assert 0.9 < most["peak"] / (MARGIN * CHIPS[chip].memory) <= 1.01  # the estimate is true to a hundredth


def test_the_estimate_knows_how_much_of_the_loss_is_computed_at_once(run: Any) -> None:
    """With room to spare that is 2 GiB of logits, a quarter of the whole peak."""
    values = {"precision": "bfloat16", "tokens_per_row": 8192, "recompute": "auto", "max_steps": 2}
    answer = run(SetUp("sft", values, "135m"))
    most, estimate = at_the_peak(answer)
    assert (answer["choices"]["recompute"], answer["choices"]["loss-chunk"]) == ("none", "2048 MiB")
    assert ESTIMATE[0] <= most["peak"] / estimate <= ESTIMATE[1]


def test_the_estimate_leaves_nothing_on_the_device(run: Any) -> None:
    told, found = (run(SetUp("sft", {"precision": "bfloat16", "recompute": how})) for how in ("none", "auto"))
    assert found["choices"]["recompute"] == "none"
    assert found["held"] == told["held"]


def test_frozen_weights_come_to_the_device_in_the_format_they_stay_in(run: Any) -> None:
    answer = run(SetUp("sft", {"precision": "bfloat16", "lora_rank": 16, "max_steps": 1}, "8b"))
    assert answer["error"] is None
    assert answer["built"] < 1.1 * answer["held"]


SHARDED = SetUp("sft", {"precision": "bfloat16", "parallel": "fsdp2", "max_steps": 1}, "1b", world=8)
WHOLE = 4 * 1.24e9  # bytes of its weights in float32


def test_a_sharded_model_is_never_whole_on_one_device(run: Any) -> None:
    assert run(SHARDED)["built"] < WHOLE / 2


def test_a_sharded_checkpoint_is_never_whole_on_one_device(run: Any) -> None:
    answer = run(SHARDED)
    assert answer["ended"] - answer["steps"][-1]["live"] < WHOLE / 2
