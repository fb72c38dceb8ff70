"""When compiled layers may be captured as CUDA graphs, and the borders they are given; a capture takes a driver."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.trainer.running import prepare_run
from trainer.model import fitting, graphs


@pytest.mark.parametrize(("documents", "count"), [(1, 64), (63, 64), (64, 128), (200, 256)])
def test_borders_are_padded_with_the_end_of_the_row(documents: int, count: int) -> None:
    borders = torch.arange(documents + 1, dtype=torch.int32)
    found = graphs.pad_borders(borders, documents)
    assert found.dtype == torch.int32
    assert found.shape == (count,)
    assert torch.equal(found[: documents + 1], borders)
    assert bool((found[documents:] == documents).all())


def test_each_reason_against_it_is_said(tiny: dict) -> None:
    run = prepare_run(tiny)
    batches = run.prepared.source.step(0, 0)
    trainee = replace(run.trainee, device=torch.device("cuda"), attention=SimpleNamespace(traced=True))
    settings = replace(run.settings, compile="on", recompute="none")
    several = SimpleNamespace(world=2)

    def why(of: Any = trainee, how: Any = settings, group: Any = run.group, limit: int = 0, rows: Any = batches) -> Any:
        return graphs.why_not(of, how, group, limit, rows)

    assert why() is None
    assert why(of=run.trainee) == "graphs are of a GPU"
    assert why(how=replace(settings, compile="off")) == "layers are not compiled"
    assert why(of=replace(trainee, attention=None)) == "attention is not in the layers' graphs"
    assert why(how=replace(settings, packing=False)) == "rows are not of one width"
    assert why(how=replace(settings, recompute="2")) == "layers are computed again"
    assert why(limit=64) == why(rows=[*batches, *batches]) == "a step is more than one pass"
    assert why(group=several) == "several processes exchange gradients while they compute"


def test_a_run_that_asks_for_graphs_where_there_are_none_says_so_and_runs(tiny: dict) -> None:
    run = prepare_run({**tiny, "graphs": "on"})
    fitting.fit(run.trainee, run.prepared, run.settings, run.group, 1, {})
    (choice,) = (choice for choice in run.trainee.choices if choice.what == "graphs")
    assert (choice.value, choice.reason) == ("off", "graphs are of a GPU")
    assert not run.trainee.attention.padded
