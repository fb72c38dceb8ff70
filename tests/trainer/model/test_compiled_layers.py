"""Equal layers are compiled once, however many there are, with whatever the trainer has put into them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.trainer.running import gradients, prepare_run

pytestmark = pytest.mark.slow
MANY = 10  # a compiler gives up behind eight forms of one function


@pytest.mark.parametrize(
    "more", [{"precision": "float32"}, {"precision": "bfloat16"}, {"precision": "bfloat16", "lora_rank": 4}]
)
def test_ten_layers_are_as_few_graphs_as_three(tiny: dict, more: dict) -> None:
    """Norms that were objects of their own made a graph of each layer, and ran those behind the eighth uncompiled."""
    few, many = graphs({**tiny, **more}, 3), graphs({**tiny, **more}, MANY)
    assert 0 < few == many


def graphs(values: dict, layers: int) -> int:
    """How many there are after both passes of a step."""
    from torch._dynamo.utils import counters

    config = json.loads(Path(values["model_config"]).read_text("utf-8"))
    deep = Path(values["model_config"]).with_name(f"{layers}.json")
    deep.write_text(json.dumps({**config, "num_hidden_layers": layers}), "utf-8")
    torch._dynamo.reset()
    run = prepare_run({**values, "model_config": str(deep), "compile": "on"})
    run.prepared.source.fill = True
    counters.clear()
    gradients(run, run.prepared.source.step(0, 0))
    torch._dynamo.reset()
    return int(counters["stats"]["unique_graphs"])
