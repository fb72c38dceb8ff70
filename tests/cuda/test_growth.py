"""A thousand steps leave on the device and on the host what a hundred leave: tensors, bytes, and events.

Checkpoints are put together as in a run, and not written: what copies them has tests of its own.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.cuda.setups import ATTENTIONS, SetUp

pytestmark = pytest.mark.cuda
STEPS, EVERY = 1000, 10
FEWER = 300  # where a step takes five times as long: each row of it is embedded twice
VALUES = {
    "precision": "bfloat16", "attention": "varlen", "tokens_per_row": 512, "max_steps": STEPS, "log_every": EVERY,
}  # fmt: skip


def growth(answer: dict[str, Any], what: str, count: int = STEPS) -> int:
    """From the hundredth step to the last, both of which end in a log."""
    assert answer["error"] is None, answer["error"]["at"]
    steps = answer["steps"]
    assert len(steps) == count
    return int(steps[count - 1][what] - steps[100 - 1][what])


NONE = {"storages": 0, "live": 0, "events": 0}
EMBEDDED = {"gradcache_chunk": 256, "pairs_per_batch": 2, "negatives_per_query": 1, "generative_weight": 0.0}
ALONE: dict[str, SetUp] = {
    "": SetUp("sft", VALUES, "mite"),
    "adapters, two micro-batches": SetUp("sft", {**VALUES, "lora_rank": 8, "accumulate": 2}, "mite"),
    "rows embedded again": SetUp("gritlm", {**VALUES, **EMBEDDED, "max_steps": FEWER}, "mite"),
    "padded": SetUp("sft", {**VALUES, **ATTENTIONS["padded"]}, "mite"),
    "checkpoints": SetUp("sft", {**VALUES, "checkpoint_every": 50}, "mite"),
}


@pytest.mark.parametrize("what", ALONE)
def test_a_thousand_steps_alone(what: str, run: Any) -> None:
    answer = run(ALONE[what])
    assert {name: growth(answer, name, ALONE[what].values["max_steps"]) for name in NONE} == NONE
    assert answer["saved"] == (STEPS // 50 + 1 if what == "checkpoints" else 1)  # one at the end


@pytest.mark.parametrize("parallel", ["ddp", "fsdp2"])
def test_a_thousand_steps_of_the_first_of_eight(parallel: str, run: Any) -> None:
    answer = run(SetUp("sft", {**VALUES, "parallel": parallel}, "mite", world=8))
    assert {what: growth(answer, what) for what in NONE} == NONE


def test_a_thousand_steps_of_another_of_eight(run: Any) -> None:
    answer = run(SetUp("sft", {**VALUES, "parallel": "ddp"}, "mite", world=8, rank=3))
    assert growth(answer, "storages") == 0
    assert growth(answer, "events") == 0
