"""Whole steps of every task, precision, attention, recomputation and accumulation: they run, nothing waits for the
device between logs, nothing stays on it, and they launch as many kernels as they did.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tests.cuda.setups import SetUp, matrix, others, several

pytestmark = pytest.mark.cuda
PENDING = 3  # loss, norm and the guard's flag of each step stay on the device until a log reads them


def waits_in_steps(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [wait for wait in answer["waits"] if wait["phase"] == "step"]


@pytest.mark.parametrize("set_up", [*matrix(), *others(), *several()], ids=lambda set_up: set_up.name)
def test_a_step(set_up: SetUp, run: Any, golden: Any) -> None:
    answer = run(set_up)
    assert answer["error"] is None, answer["error"]["at"]
    assert waits_in_steps(answer) == []
    steps = answer["steps"]
    assert len(steps) == 3
    assert [after["storages"] - before["storages"] for before, after in pairwise(steps)] == [PENDING] * 2
    last = steps[-1]
    golden("steps").compare(
        set_up.name,
        {
            "attention": answer["choices"]["attention"], "operators": last["operators"], "kernels": last["kernels"],
            "copies": last["copies"], "collectives": last["collectives"],
        },
    )  # fmt: skip


@pytest.mark.parametrize(
    ("chip", "precision", "attention"),
    [
        ("T4", "float16", "documents"), ("A100", "bfloat16", "varlen"), ("RTX 4090", "bfloat16", "varlen"),
        ("H100", "bfloat16", "varlen"), ("B200", "bfloat16", "varlen"), ("RTX 5090", "bfloat16", "varlen"),
    ],
)  # fmt: skip
def test_what_each_chip_gets_by_default(chip: str, precision: str, attention: str, run: Any) -> None:
    choices = run(SetUp("sft", chip=chip))["choices"]
    assert (choices["precision"], choices["attention"], choices["optimizer"]) == (precision, attention, "AdamW fused")


def test_the_dispatcher_of_torch_chooses_by_the_pretended_chip(run: Any) -> None:
    """torch's own C++ code reads the pretended capability: flash attention from 8.0 on, below it the efficient one."""
    values = {"attention": "documents", "precision": "float16"}
    old, new = (run(SetUp("sft", values, chip=chip))["steps"][-1]["by_kind"] for chip in ("T4", "A100"))
    assert "_scaled_dot_product_flash_attention" in new
    assert "_scaled_dot_product_flash_attention" not in old
    assert "_scaled_dot_product_efficient_attention" in old


def test_the_logs_are_where_the_host_waits(run: Any) -> None:
    answer = run(SetUp("sft", {"precision": "bfloat16", "log_every": 1}))
    phases = {wait["phase"] for wait in answer["waits"]}
    assert {"log", "end"} <= phases
    assert waits_in_steps(answer) == []
