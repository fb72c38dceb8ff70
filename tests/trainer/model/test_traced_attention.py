"""Compiled layers with attention within their graph, on the operator that GPUs run, computed here by plain products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tests.trainer.running import gradients, prepare_run
from tests.trainer.standins import backward, forward
from trainer.model import graphs
from trainer.model.attention import DocumentAttention, for_compiled_layers, varlen_path
from trainer.model.build import compile_layers, layers_of

varlen = pytest.importorskip("torch.nn.attention.varlen")
pytestmark = pytest.mark.slow


@pytest.fixture
def on_the_cpu() -> Iterator[None]:
    varlen._varlen_attn.register_kernel("cpu")(forward)
    varlen._varlen_attn_backward.register_kernel("cpu")(backward)
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def test_one_graph_a_layer_whatever_the_documents(tiny: dict, on_the_cpu: None) -> None:
    from torch._dynamo.utils import counters

    plain, run = (prepare_run({**tiny, "compile": "off"}) for _ in range(2))
    attention = DocumentAttention("varlen", varlen_path(varlen.varlen_attn))
    attention.varlen = varlen.varlen_attn
    run.trainee.attention = attention
    run.prepared.source.fill = plain.prepared.source.fill = True
    assert compile_layers(run.trainee) == "attention in the graph"
    counters.clear()
    steps = [run.prepared.source.step(0, index) for index in range(4)]
    assert len({len(batches[0].lengths) for batches in steps}) > 1, "rows differ in their number of documents"
    for batches in steps:
        left, right = gradients(plain, batches), gradients(run, batches)
        assert left[0] == pytest.approx(right[0], abs=1e-5)
        assert all(torch.allclose(left[1][name], right[1][name], rtol=1e-4, atol=1e-6) for name in left[1])
    assert not counters["graph_break"]
    assert counters["stats"]["unique_graphs"] <= 2, "four rows of two layers, and no graph of its own for any of them"


def traced(tiny: dict) -> Any:
    """A run whose compiled layers have the operator in their graph, and rows of one width."""
    run = prepare_run({**tiny, "compile": "off"})
    run.trainee.attention = DocumentAttention("varlen", varlen_path(varlen.varlen_attn))
    run.trainee.attention.varlen = varlen.varlen_attn
    run.prepared.source.fill = True
    assert compile_layers(run.trainee) == "attention in the graph"
    return run


def test_padded_borders_change_no_bit(tiny: dict, on_the_cpu: None) -> None:
    """Of what compiled layers call, here by itself."""
    plain, run = traced(tiny), traced(tiny)
    for one in (plain, run):
        for layer in layers_of(one.trainee.model):
            layer._compiled_call_impl = None
    run.trainee.attention.padded = True
    for index in range(4):
        batches = plain.prepared.source.step(0, index)
        (loss, exact), (again, found) = gradients(plain, batches), gradients(run, batches)
        assert run.trainee.attention.borders.shape[0] == 64 > plain.trainee.attention.borders.shape[0]
        assert loss == again
        assert all(torch.equal(exact[name], found[name]) for name in exact)


def test_rows_of_any_documents_are_one_graph_of_constant_shapes(tiny: dict, on_the_cpu: None) -> None:
    """As CUDA graphs want it. A CPU captures none, and computes what Inductor made in that mode."""
    from torch._dynamo.utils import counters

    plain, run = prepare_run({**tiny, "compile": "off"}), traced(tiny)
    plain.prepared.source.fill = True
    graphs.capture(run.trainee.attention, layers_of(run.trainee.model))
    counters.clear()
    shapes = set()
    for index in range(4):
        batches = run.prepared.source.step(0, index)
        left, right = gradients(plain, batches), gradients(run, batches)
        shapes.add((run.trainee.attention.slots, *run.trainee.attention.borders.shape))
        assert left[0] == pytest.approx(right[0], abs=1e-5)
        assert all(torch.allclose(left[1][name], right[1][name], rtol=1e-4, atol=1e-6) for name in left[1])
    assert shapes == {(128, 64)}
    assert not counters["graph_break"]
    assert counters["stats"]["unique_graphs"] == 1, "of four rows and two layers"


def test_a_model_with_a_window_keeps_its_attention_out_of_the_graph(tiny: dict) -> None:
    run = prepare_run(tiny)
    run.trainee.model.config.sliding_window = 64
    run.trainee.attention.varlen = varlen.varlen_attn
    said = for_compiled_layers(run.trainee.attention, run.trainee.implementation, run.trainee.model.config)
    assert "two graphs" in said
    assert not run.trainee.attention.traced
