"""Adafactor: torch's own steps, what it keeps and what the estimate says, the same bits after a checkpoint."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch

from tests.trainer.conftest import write_lines
from tests.trainer.running import prepare_run, resumed, same, weights, whole
from trainer import loop
from trainer.__main__ import main
from trainer.compute import contradictions, factored
from trainer.compute.optimizer import Stepper, learning_rate
from trainer.errors import TrainerError
from trainer.model.memory import footprint
from trainer.options import defaults
from trainer.options.settings import Settings

FACTORED = {"moments": "adafactor"}


@pytest.mark.parametrize("optimizer", ["auto", "foreach"])
def test_its_steps_are_those_of_a_bare_loop(tiny: dict, optimizer: str) -> None:
    values = {**tiny, **FACTORED, "epochs": 4, "learning_rate": 0.1, "weight_decay": 0.1, "optimizer": optimizer}
    run, other = prepare_run(values), prepare_run(values)
    loop.train(run, [])
    model, source = other.trainee.model, other.prepared.source
    decays = [p for name, p in model.named_parameters() if p.ndim >= 2 and "embed" not in name]
    stays = [p for name, p in model.named_parameters() if not (p.ndim >= 2 and "embed" not in name)]
    bare = torch.optim.Adafactor(
        [{"params": decays, "weight_decay": 0.1}, {"params": stays, "weight_decay": 0.0}],
        foreach=optimizer == "foreach",
    )
    losses, step = [], 0
    for epoch in range(4):
        for index in range(source.steps_in(epoch)):
            (batch,) = source.step(epoch, index)
            loss = other.task.loss(other.trainee, batch, other.settings, 1.0 / batch.weight)
            loss.backward()
            norm = torch.linalg.vector_norm(torch.stack([p.grad.norm() for p in model.parameters()]))
            torch._foreach_div_([p.grad for p in model.parameters()], norm.clamp_min(1.0))
            for group in bare.param_groups:
                group["lr"] = learning_rate(step, other.total_steps, other.settings)
            bare.step()
            bare.zero_grad()
            losses.append(float(loss.detach()))
            step += 1
    assert len(losses) > 12
    assert run.history.losses == pytest.approx(losses, rel=1e-6)
    assert losses[-1] < 0.7 * losses[0]
    # The same arithmetic but for the order in which squares are summed.
    assert all(torch.allclose(one, weights(other)[name], atol=1e-6) for name, one in weights(run).items())


def test_what_is_kept_is_what_the_estimate_says(tiny: dict) -> None:
    run = prepare_run({**tiny, **FACTORED, "max_steps": 1})
    loop.train(run, [])
    held = sum(
        tensor.numel() * tensor.element_size()
        for state in run.stepper.optimizer.state.values()
        for key, tensor in state.items()
        if key in factored.KEPT
    )
    estimate = footprint(run.trainee, kind_of_moments="adafactor").moments
    assert held == estimate
    assert estimate < 0.08 * footprint(run.trainee).moments
    assert run.stepper.choice.value == "Adafactor loop"


@pytest.mark.slow
def test_a_checkpoint_goes_on_to_the_same_bits(tiny: dict, tmp_path: Path) -> None:
    values = {**tiny, **FACTORED, "epochs": 2, "learning_rate": 1e-2}
    losses, final = whole(values)
    before, after, found = resumed(values, tmp_path / "c", 3)
    assert len(before) == 3
    assert before + after == losses
    assert same(found, final)
    assert whole({**values, "moments": "float32"})[0] != losses


def test_a_gradient_that_is_not_finite_changes_nothing() -> None:
    model = torch.nn.Linear(64, 64)
    stepper = Stepper(model, torch.device("cpu"), Settings(**FACTORED, learning_rate=0.1))
    before = model.weight.detach().clone()
    (model(torch.ones(2, 64)).sum() * float("nan")).backward()
    _, bad = stepper.step(0.1)
    assert float(bad) == 1.0
    assert torch.equal(model.weight, before)


def test_the_rate_is_relative_and_moves_weights_as_adamw_s_does() -> None:
    """Weights of a usual size move in a step of each rate by what AdamW's default would, within a factor of four."""
    for pretrained in (False, True):
        relative, why = defaults.learning_rate(125_000_000, False, pretrained, True)
        assert "relative to the size" in why
        absolute, _ = defaults.learning_rate(125_000_000, False, pretrained)
        torch.manual_seed(0)
        moved = {}
        for kind, rate in (("adafactor", relative), ("float32", absolute)):
            model = torch.nn.Linear(256, 256, bias=False)
            torch.nn.init.normal_(model.weight, std=0.02)
            before = model.weight.detach().clone()
            stepper = Stepper(model, torch.device("cpu"), Settings(moments=kind, learning_rate=rate))
            model(torch.randn(512, 256)).square().sum().backward()
            stepper.step(rate)
            moved[kind] = float((model.weight.detach() - before).square().mean().sqrt())
        assert 0.25 < moved["adafactor"] / moved["float32"] < 4


@pytest.mark.parametrize(
    ("values", "kind", "frozen", "said"),
    [
        ({"optimizer": "fused"}, "none", False, "torch has no fused Adafactor"),
        ({"beta2": 0.99}, "none", False, "beta2 is an option of AdamW"),
        ({}, "fsdp2", False, "does not go with FSDP2"),
        ({}, "none", True, "does not go with adapters"),
    ],
)
def test_what_does_not_go_together_is_refused(values: dict, kind: str, frozen: bool, said: str) -> None:
    with pytest.raises(TrainerError, match=said):
        contradictions.check(Settings(**{**FACTORED, **values}), kind, frozen)
    contradictions.check(dataclasses.replace(Settings(**values), moments="float32"), kind, frozen)


def test_a_torch_without_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.optim, "Adafactor")
    with pytest.raises(TrainerError, match="has no Adafactor"):
        Stepper(torch.nn.Linear(2, 2), torch.device("cpu"), Settings(**FACTORED))


def test_the_command_trains_with_the_rate_that_suits_it(tiny: dict, tmp_path: Path, capsys) -> None:
    pairs = write_lines(tmp_path / "p.jsonl", [{"prompt": "say", "completion": " the cost of order"}] * 40)
    values = {**tiny, "data": [str(pairs)], "max_steps": 100}
    (tmp_path / "s.json").write_text(json.dumps(values))
    report = tmp_path / "report.json"
    line = ["sft", "--config", str(tmp_path / "s.json"), "--report", str(report)]
    assert main([*line, "--moments", "adafactor"]) == 0
    told = json.loads(report.read_text())
    choices = {one["what"]: one for one in told["choices"]}
    assert choices["optimizer"]["value"] == "Adafactor loop"
    assert choices["learning-rate"]["value"] == "0.01"
    assert told["losses"][-1] < 0.85 * told["losses"][0]
    capsys.readouterr()
    assert main([*line, "--moments", "adafactor", "--lora_rank", "4", "--output", str(tmp_path / "o")]) == 1
    assert "half of theirs begin at zero" in capsys.readouterr().err
    assert main([*line, "--optimizer", "adafactor"]) == 1
    assert "Give --moments adafactor." in capsys.readouterr().err
    assert main([*line, "--output", str(tmp_path / "run")]) == 1, "another optimizer does not go on with that run"
    assert "moments=adafactor, now float32" in capsys.readouterr().err
