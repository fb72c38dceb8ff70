"""Steps played on links: what waits, what runs beside computing, and what of it is read from a trace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cuda import scaling
from tests.cuda.counted import CHIPS, seconds
from tests.cuda.record import RECORDED
from tests.cuda.scaling import gathers_of, layers_ahead, on_links, played
from tests.cuda.setups import SetUp

MB, LAYER = 1 << 20, 1e12  # a layer: bytes of its weights by a hundred, and operations


def sent(name: str, size: int, layers: float) -> dict[str, Any]:
    """A collective that is launched when so many layers' operations are."""
    return {"name": name, "size": size, "flops": layers * LAYER, "attention": 0.0, "other_bytes": 0.0, "small": 0,
            "kernels": 0}  # fmt: skip


def step_of(order: list[dict[str, Any]], layers: float) -> dict[str, Any]:
    return {**sent("", 0, layers), "sent": order}


def sharded(count: int, ahead: int, size: int = 100 * MB) -> dict[str, Any]:
    """Forward a layer's work each, backward two; gathers of the backward pass so many layers ahead."""
    order = [sent("_allgather_base_", size, 0.0)]  # the root's
    order += [sent("_allgather_base_", size, layer) for layer in range(count)]
    for layer in range(count):
        first, last = (0 if not layer else layer + ahead), min(layer + ahead, count - 1)
        order += [sent("_allgather_base_", size, count + 2 * layer) for _ in range(first, last + 1)]
        order.append(sent("_reduce_scatter_base_", 2 * size, count + 2 * layer + 2))
    return step_of(order, 3 * count)


LAYER_SECONDS = seconds(sent("", 0, 1), CHIPS["H100"], compiled=False)[0]


@pytest.mark.parametrize("ahead", [0, 1])
@pytest.mark.parametrize("count", [4, 7])
def test_how_far_ahead_gathers_are_launched_is_read_from_their_order(count: int, ahead: int) -> None:
    step = sharded(count, ahead)
    forward, backward = gathers_of(step)
    assert (len(forward), len(backward)) == (count + 1, count)
    assert layers_ahead(step) == ahead


def test_gradients_sent_early_cost_nothing_and_late_ones_their_time() -> None:
    size = 64 * MB
    length = on_links("allreduce_", size, 8)
    assert length < 10 * LAYER_SECONDS
    early, late = (played(step_of([sent("allreduce_", size, at)], 30), 8) for at in (5, 30))
    # What is left when the last large one is launched is waited for.
    assert late.waiting == pytest.approx(length)
    two = played(step_of([sent("allreduce_", size, 5), sent("allreduce_", size, 30)], 30), 8)
    assert two.waiting == pytest.approx(length)
    assert two.links == pytest.approx(2 * length)
    assert early.computing == late.computing == two.computing == pytest.approx(30 * LAYER_SECONDS)


def test_small_collectives_are_waited_for() -> None:
    found = played(step_of([sent("allreduce_", 4, 1)] * 3, 30), 8)
    assert found.waiting == found.links == pytest.approx(3 * on_links("allreduce_", 4, 8))


def test_a_link_carries_one_after_the_other() -> None:
    size = 64 * MB
    found = played(step_of([sent("allreduce_", size, 30)] * 4, 30), 8)
    assert found.waiting == pytest.approx(4 * on_links("allreduce_", size, 8))


def test_gathers_a_layer_ahead_hide_where_a_layer_takes_longer_than_they_do() -> None:
    """Without looking ahead every layer of the backward pass waits for its own."""
    alone, ahead = (played(sharded(8, how), 8) for how in (0, 1))
    gather = on_links("_allgather_base_", 100 * MB, 8)
    scatter = on_links("_reduce_scatter_base_", 200 * MB, 8)
    assert gather + scatter < 2 * LAYER_SECONDS
    assert ahead.computing == alone.computing
    assert ahead.waiting < alone.waiting - 4 * gather


def test_between_machines_the_adapter_is_what_takes_the_time() -> None:
    size = 512 * MB
    within = 2 * size * 7 / 8 / (scaling.NVLINK * scaling.REACHED)
    between = 2 * size / 8 * 7 / 8 / (scaling.ADAPTER * scaling.REACHED)
    assert on_links("allreduce_", size, 8) == pytest.approx(within + scaling.STARTS[False])
    assert on_links("allreduce_", size, 64) == pytest.approx(within + between + scaling.STARTS[True])
    assert on_links("allreduce_", size, 1) == 0.0


def test_the_kept_traces_look_one_layer_ahead_and_the_table_says_so() -> None:
    record = json.loads((RECORDED / "scaling.json").read_text("utf-8"))
    for found in record["runs"]["1b, shards"].values():
        forward, backward = gathers_of(found["step"])
        assert (len(forward), len(backward)) == (17, 16), "the root and sixteen layers, and these again"
        assert layers_ahead(found["step"]) == 1
    assert scaling.table(record).endswith(
        "gathers of the backward pass are launched 1 layer ahead, by the trace; that those of the forward pass run "
        "beside the layer before is assumed."
    )


@pytest.mark.cuda
def test_the_trainers_own_step_is_such_a_trace(run: Any) -> None:
    """Of today's code and torch, with layers large enough to count."""
    values = {"precision": "bfloat16", "attention": "varlen", "parallel": "fsdp2", "recompute": "none"}
    answer = run(SetUp("sft", {**values, "max_steps": 2}, "135m", world=8))
    assert answer["error"] is None, answer["error"]["at"]
    step = answer["steps"][-1]
    assert [len(gathers) for gathers in gathers_of(step)] == [31, 30]
    assert layers_ahead(step) == 1
