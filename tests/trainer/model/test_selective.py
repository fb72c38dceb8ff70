"""Layers of which all but the products and attention is computed again."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.trainer.model.test_memory import NEED, deeper
from tests.trainer.running import gradients, prepare_run
from trainer.errors import TrainerError
from trainer.model import fitting, selective
from trainer.model.memory import footprint, plan
from trainer.model.peak import Pass, again, between, in_words, ladder
from trainer.options.settings import from_mapping


class Called(TorchDispatchMode):
    """How often each operator was."""

    def __init__(self) -> None:
        super().__init__()
        self.kept, self.others = Counter(), Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name
        (self.kept if selective.is_kept(func) else self.others)[name] += 1
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("more", [{}, {"lora_rank": 4}, {"precision": "bfloat16"}])
def test_products_are_computed_once_and_the_rest_twice(tiny: dict, more: dict) -> None:
    called = {}
    for rung in ("none", "selective", "full"):
        run = prepare_run({**tiny, **more, "recompute": rung})
        run.trainee.model.enable_input_require_grads()  # as transformers does for checkpointed layers with adapters
        with Called() as called[rung]:
            gradients(run, run.prepared.source.step(0, 0))
    assert called["none"].kept == called["selective"].kept
    assert called["full"].kept.total() > called["none"].kept.total()
    assert called["selective"].others["aten::mul"] > called["none"].others["aten::mul"]


def test_what_such_layers_keep_lies_between_their_inputs_and_all(tiny: dict) -> None:
    need = footprint(prepare_run(tiny).trainee, products=True)
    assert need.entry < need.products < need.inside
    plain = footprint(prepare_run(tiny).trainee)
    assert plain == need._replace(products=0.0)


def test_layers_are_computed_again_between_their_products_before_any_is_as_a_whole() -> None:
    need = NEED._replace(products=2e6)
    rungs = ladder(4, selective=True)
    assert rungs == ("none", "0+1", "0+2", "0+3", "selective", "1+3", "2+2", "3+1", "full")
    assert [(len(again(rung, 4)), len(between(rung, 4))) for rung in rungs] == [
        (0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 3), (2, 2), (3, 1), (4, 0),
    ]  # fmt: skip
    sizes = [need.peak(rung, 1000, 500) for rung in ladder(10, selective=True)]
    # Of one layer that is kept the same lies there as of one that comes, and its input.
    assert all(after <= before + 1000 * need.entry / 10 for before, after in itertools.pairwise(sizes))
    for rung, size in zip(("none", "0+1", "0+5", "3+7", "7+3"), (sizes[n] for n in (0, 1, 5, 13, 17)), strict=True):
        assert plan(need, size + 1, [Pass(1000, 500)], 100).rung == rung
    assert need.peak("selective", 1000, 500) == pytest.approx(need.peak("none", 1000, 500) - 1000 * 2e6, rel=0.3)


@pytest.mark.parametrize(
    ("rung", "words"),
    [
        ("none", "none"), ("full", "full"), ("3", "3 of 8 layers"), ("0+3", "3 of 8 layers between products"),
        ("selective", "8 of 8 layers between products"), ("2+6", "2 of 8 layers, the others between products"),
        ("2+3", "2 of 8 layers, 3 between products"),
    ],
)  # fmt: skip
def test_how_many_of_which_is_said(rung: str, words: str) -> None:
    assert in_words(rung, 8) == words


@pytest.mark.parametrize("word", ["2+", "+3", "0+0", "0", "1+2+3", "-1+2", "two"])
def test_what_is_no_number_of_layers_is_refused(word: str) -> None:
    with pytest.raises(TrainerError, match="recompute"):
        from_mapping({"recompute": word}, "test")
    assert from_mapping({"recompute": "2+3"}, "test").recompute == "2+3"


def test_attention_that_drops_out_is_not_kept(tiny: dict) -> None:
    path = Path(deeper(tiny))
    path.write_text(json.dumps({**json.loads(path.read_text()), "attention_dropout": 0.1}))
    values = {**tiny, "model_config": str(path), "packing": False, "attention": "model"}
    with pytest.raises(TrainerError, match="attention drops out"):
        prepare_run({**values, "recompute": "selective"})
    run = prepare_run({**values, "recompute": "full"})
    assert gradients(run, run.prepared.source.step(0, 0))[0] > 0


def test_compiled_layers_do_it_by_themselves(tiny: dict) -> None:
    model = prepare_run(tiny).trainee.model
    layers = model.get_decoder().layers
    assert [selective.why_not(model, layers, name) for name in ("documents", "varlen", "flash-attn")] == [None] * 3
    assert selective.why_not(model, layers, "flex") == "attention=flex is compiled"
    layers[0].compile()
    assert selective.why_not(model, layers, "documents") == "compiled layers do it by themselves"


def test_who_asks_for_both_gets_layers_that_are_not_compiled(tiny: dict) -> None:
    run = prepare_run({**tiny, "recompute": "selective"})
    asked = replace(run.settings, compile="on")
    settings, _ = fitting.fit(run.trainee, run.prepared, asked, run.group, 1, {})
    assert (settings.compile, settings.recompute) == ("off", "selective")
    (choice,) = (choice for choice in run.trainee.choices if choice.what == "compile")
    assert "operator by operator" in choice.reason


def test_an_operator_is_known_by_what_it_does() -> None:
    aten = torch.ops.aten
    kept = (aten.mm.default, aten.addmm.default, aten.addmm_.default, aten.bmm.default,
            aten._scaled_dot_product_flash_attention.default)  # fmt: skip
    assert all(map(selective.is_kept, kept))
    assert not any(map(selective.is_kept, (aten.mul.Tensor, aten.silu.default, aten._to_copy.default, aten.t.default)))
