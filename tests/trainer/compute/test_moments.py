"""AdamW's moments in 8 bits: what they weigh, how near they stay, the same bits after a checkpoint, what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch

from tests.trainer.running import prepare_run, resumed, same, whole
from trainer import loop
from trainer.compute import contradictions, moments
from trainer.compute.optimizer import Stepper
from trainer.errors import TrainerError
from trainer.model.memory import footprint
from trainer.options.settings import Settings

pytest.importorskip("bitsandbytes")
NARROW = {"moments": "8bit"}


@pytest.fixture
def wide(tiny: dict, tmp_path: Path) -> dict:
    """Settings values of a model whose matrices are large enough for 8 bits."""
    path = tmp_path / "wide.json"
    config = json.loads(Path(tiny["model_config"]).read_text(encoding="utf-8"))
    path.write_text(json.dumps({**config, "hidden_size": 64, "intermediate_size": 128}), encoding="utf-8")
    return {**tiny, "model_config": str(path)}


def held(stepper: Stepper) -> int:
    return sum(
        tensor.numel() * tensor.element_size()
        for state in stepper.optimizer.state.values()
        for key, tensor in state.items()
        if key in (*moments.KEPT, "exp_avg", "exp_avg_sq")
    )


def test_a_matrix_takes_two_bytes_a_weight_and_the_estimate_says_so(wide: dict) -> None:
    run = prepare_run({**wide, **NARROW, "max_steps": 1, "epochs": 0})
    loop.train(run, [])
    estimate = footprint(run.trainee, kind_of_moments="8bit").moments
    assert estimate == pytest.approx(held(run.stepper), rel=0.01)
    plain = footprint(run.trainee).moments
    large = [p.numel() for name, p in run.trainee.model.named_parameters() if moments.is_narrow(name, p)]
    assert len(large) == 10
    assert plain - estimate == pytest.approx(6 * sum(large), rel=0.01)
    assert run.stepper.choice.value == "AdamW in 8 bits"
    kinds = {name: run.stepper.optimizer.state[p]["state1"].dtype for p, name in run.stepper.names.items()}
    assert {dtype for name, dtype in kinds.items() if "embed" in name or "norm" in name} == {torch.float32}
    assert torch.uint8 in kinds.values()


def test_it_learns_as_float32_does(wide: dict) -> None:
    values = {**wide, "epochs": 3, "learning_rate": 1e-2}
    exact, _ = whole(values)
    narrow, _ = whole({**values, **NARROW})
    assert narrow[-1] < 0.6 * narrow[0]
    assert narrow[-1] == pytest.approx(exact[-1], rel=0.05)
    assert narrow != exact


@pytest.mark.slow
def test_a_checkpoint_goes_on_to_the_same_bits(wide: dict, tmp_path: Path) -> None:
    values = {**wide, **NARROW, "epochs": 2}
    losses, final = whole(values)
    before, after, found = resumed(values, tmp_path / "c", 3)
    assert len(before) == 3
    assert before + after == losses
    assert same(found, final)


def test_a_gradient_that_is_not_finite_changes_nothing() -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(64, 64)
    stepper = Stepper(model, torch.device("cpu"), Settings(moments="8bit", learning_rate=0.1))
    before = model.weight.detach().clone()
    (model(torch.ones(2, 64)).sum() * float("nan")).backward()
    _, bad = stepper.step(0.1)
    assert float(bad) == 1.0
    assert torch.equal(model.weight, before)


@pytest.mark.parametrize(
    ("values", "kind", "said"),
    [
        ({"optimizer": "fused"}, "none", "optimizer=fused is torch's"),
        ({}, "fsdp2", "does not go with FSDP2"),
    ],
)
def test_what_does_not_go_together_is_refused(values: dict, kind: str, said: str) -> None:
    with pytest.raises(TrainerError, match=said):
        contradictions.check(Settings(**{**NARROW, **values}), kind, False)


def test_without_bitsandbytes_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bitsandbytes.optim", None)
    with pytest.raises(TrainerError) as caught:
        Stepper(torch.nn.Linear(2, 2), torch.device("cpu"), Settings(moments="8bit"))
    assert caught.value.kind == "no-bitsandbytes"
    assert "pip install bitsandbytes" in str(caught.value.remedy)
