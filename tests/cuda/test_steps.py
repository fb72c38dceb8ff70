"""Whole steps of every task, precision, attention, recomputation and accumulation: they run, nothing waits for the
device between logs, nothing stays on it, and they launch as many kernels as they did.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tests.cuda.conftest import GOLDENS
from tests.cuda.setups import SetUp, matrix, others, several

pytestmark = pytest.mark.cuda
LOGS = (0, 2, 3)  # steps that end in a log
# The peak over the estimate of it. In two narrow layers what one takes for a moment is as much as what all keep, which
# the estimate has as a share; of real models the bound is a tenth (`test_sizes`).
NEAR = (0.8, 1.2)
PENDING = 1  # a step's loss stays on the device until a log reads it; norm and flag are the next step's, too


def waits_in_steps(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [wait for wait in answer["waits"] if wait["phase"] == "step"]


@pytest.mark.parametrize("set_up", [*matrix(), *others(), *several()], ids=lambda set_up: set_up.name)
def test_a_step(set_up: SetUp, run: Any, golden: Any) -> None:
    answer = run(set_up)
    assert answer["error"] is None, answer["error"]["at"]
    assert waits_in_steps(answer) == []
    steps = answer["steps"]
    most = max(range(len(steps)), key=lambda place: steps[place]["peak"])
    assert NEAR[0] <= steps[most]["peak"] / answer["estimates"][most] <= NEAR[1]
    kept = [step["storages"] for step in steps]
    assert len({kept[place] for place in LOGS}) == 1
    assert kept[1] - kept[0] == PENDING
    last = steps[-1]
    golden("steps").compare(
        set_up.name,
        {
            "attention": answer["choices"]["attention"], "operators": last["operators"], "kernels": last["kernels"],
            "copies": last["copies"], "collectives": last["collectives"],
        },
    )  # fmt: skip


def test_recomputation_and_accumulation_add_up(run: Any) -> None:
    """What `setups.WAYS` leaves out: each row of a step launches what it does alone, however many there are."""
    plain, kernels = {"precision": "bfloat16", "attention": "varlen"}, {}
    for recompute, accumulate in itertools.product(("none", "alternate", "full"), (1, 3)):
        answer = run(SetUp("sft", {**plain, "recompute": recompute, "accumulate": accumulate}))
        kernels[recompute, accumulate] = answer["steps"][-1]["kernels"]
    for recompute in ("alternate", "full"):
        again = kernels[recompute, 1] - kernels["none", 1]
        assert again > 0
        assert kernels[recompute, 3] == kernels["none", 3] + 3 * again


def test_the_table_has_no_other_rows() -> None:
    known = {set_up.name for set_up in (*matrix(), *others(), *several())}
    assert set(json.loads((GOLDENS / "steps.json").read_text("utf-8"))) == known


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


def test_compiled_layers_as_graphs_are_launched_once_for_each_pass(run: Any) -> None:
    """Two layers, forward and backward; what a graph holds the host does not launch."""
    values = {"precision": "bfloat16", "attention": "varlen", "compile": "on"}
    off, on = (run(SetUp("sft", {**values, "graphs": graphs})) for graphs in ("off", "on"))
    for answer in (off, on):
        assert answer["error"] is None, answer["error"]["at"]
    plain, captured = (answer["steps"][-1] for answer in (off, on))
    assert (plain["graphs"], captured["graphs"]) == (0, 4)
    assert captured["kernels"] - captured["in_graphs"] + 4 < plain["kernels"] / 2


def test_a_compiled_step_is_fewer_kernels_and_the_same_products(run: Any) -> None:
    """Which are those of cuBLAS and of attention in both."""
    values = {"precision": "bfloat16", "attention": "varlen"}
    eager, compiled = (run(SetUp("sft", {**values, **more}))["steps"] for more in ({}, {"compile": "on"}))
    for kind in ("mm", "_varlen_attn", "_varlen_attn_backward"):
        assert eager[-1]["by_kind"][kind] == compiled[-1]["by_kind"][kind]
    assert compiled[-1]["kernels"] < eager[-1]["kernels"]
    assert any(name.startswith("triton_") for name in compiled[-1]["by_kind"])


def test_the_dispatcher_of_torch_chooses_by_the_pretended_chip(run: Any) -> None:
    """torch's own C++ code reads the pretended capability: flash attention from 8.0 on, below it the efficient one."""
    values = {"attention": "documents", "precision": "float16"}
    old, new = (run(SetUp("sft", values, chip=chip))["steps"][-1]["by_kind"] for chip in ("T4", "A100"))
    assert "_scaled_dot_product_flash_attention" in new
    assert "_scaled_dot_product_flash_attention" not in old
    assert "_scaled_dot_product_efficient_attention" in old


def test_the_logs_are_where_the_host_waits(run: Any) -> None:
    answer = run(SetUp("sft", {"precision": "bfloat16", "log_every": 1}))
    assert "log" in {wait["phase"] for wait in answer["waits"]}  # the last one reads all that is left
    assert waits_in_steps(answer) == []
