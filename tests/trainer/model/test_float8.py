"""Products in 8 bits: imitated on the CPU where torchao is installed; refused with a reason where they cannot be."""

from __future__ import annotations

import importlib.util
import sys

import pytest
import torch

from tests.trainer.running import gradients, prepare_run
from trainer import loop
from trainer.compute import contradictions
from trainer.errors import TrainerError
from trainer.model import float8
from trainer.options.settings import from_mapping

needs_it = pytest.mark.skipif(importlib.util.find_spec("torchao") is None, reason="torchao is not installed")
EIGHT = {"precision": "bfloat16", "float8": "rowwise"}


@pytest.fixture
def wide(tiny: dict, monkeypatch: pytest.MonkeyPatch) -> dict:
    """Layers of 32 and more count as wide."""
    monkeypatch.setattr(float8, "LEAST", 32)
    return {**tiny, "max_steps": 6, "learning_rate": 1e-2}


@needs_it
def test_it_trains_near_to_bfloat16_under_the_same_names(wide: dict) -> None:
    plain, eight = prepare_run({**wide, "precision": "bfloat16"}), prepare_run({**wide, **EIGHT})
    choice = next(choice for choice in eight.trainee.choices if choice.what == "float8")
    assert "imitated" in choice.reason
    converted = [name for name, module in eight.trainee.model.named_modules() if "Float8" in type(module).__name__]
    assert len(converted) > 2
    assert not any("lm_head" in name for name in converted)
    before, after = (dict(run.trainee.model.named_parameters()) for run in (plain, eight))
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    for run in (plain, eight):
        loop.train(run, [])
    assert eight.history.losses != plain.history.losses
    assert eight.history.losses == pytest.approx(plain.history.losses, rel=0.02)
    assert eight.history.losses[-1] < eight.history.losses[0]


@needs_it
def test_gradients_are_those_of_bfloat16_but_for_rounding(wide: dict) -> None:
    plain, eight = (
        gradients(run, run.prepared.source.step(0, 0))[1]
        for run in (prepare_run({**wide, "precision": "bfloat16"}), prepare_run({**wide, **EIGHT}))
    )
    for name, gradient in plain.items():
        assert float((eight[name] - gradient).norm()) < 0.2 * float(gradient.norm()), name


@needs_it
def test_narrow_layers_stay_as_they_are(tiny: dict) -> None:
    run = prepare_run({**tiny, **EIGHT})
    assert not [module for module in run.trainee.model.modules() if "Float8" in type(module).__name__]


def test_without_torchao_the_remedy_is_named(tiny: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*(name for name in sys.modules if name.split(".")[0] == "torchao"), "torchao", "torchao.float8"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(TrainerError) as raised:
        prepare_run({**tiny, **EIGHT})
    assert raised.value.kind == "no-torchao"
    assert "pip install torchao" in raised.value.remedy


def test_all_else_has_to_be_bfloat16(tiny: dict) -> None:
    with pytest.raises(TrainerError, match="precision=bfloat16"):
        prepare_run({**tiny, "precision": "float32", "float8": "rowwise"})


@pytest.mark.parametrize(("kind", "frozen", "said"), [("fsdp2", False, "FSDP2"), ("single", True, "adapters")])
def test_what_it_does_not_go_with_is_refused(tiny: dict, kind: str, frozen: bool, said: str) -> None:
    settings = from_mapping({**tiny, "float8": "rowwise"}, "test")
    with pytest.raises(TrainerError, match=said):
        contradictions.check(settings, kind, frozen)
    contradictions.check(from_mapping(tiny, "test"), kind, frozen)
