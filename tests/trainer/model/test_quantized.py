"""Frozen weights in 8 and 4 bits under adapters: trained, resumed, merged into plain ones, or refused.

The tests that train need bitsandbytes; what is said without it needs its absence, which is made here.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.trainer.conftest import TINY
from tests.trainer.running import gradients, prepare_run
from trainer import loop
from trainer.__main__ import main
from trainer.data.workloads import DATA

needs_it = pytest.mark.skipif(importlib.util.find_spec("bitsandbytes") is None, reason="bitsandbytes is not installed")


@pytest.fixture
def pretrained(tiny: dict, tmp_path: Path) -> dict:
    """Settings values of a LoRA run over a model on disk, in bfloat16 there."""
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    values = {**TINY, "hidden_size": 64, "intermediate_size": 128, "initializer_range": 0.1}
    folder = tmp_path / "base"
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(values.pop("model_type"), **values))
    model.to(torch.bfloat16).save_pretrained(folder)
    for path in (DATA / "tokenizer").iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    rest = {name: value for name, value in tiny.items() if name not in ("model_config", "tokenizer")}
    return {**rest, "model": str(folder), "lora_rank": 8, "learning_rate": 1e-2, "epochs": 3}


def trained(values: dict, folder: Path, *more: str) -> dict:
    folder.mkdir(exist_ok=True)
    (folder / "s.json").write_text(json.dumps({**values, "output": str(folder / "run")}))
    assert main(["sft", "--config", str(folder / "s.json"), "--report", str(folder / "r.json"), *more]) == 0
    return json.loads((folder / "r.json").read_text())


@needs_it
@pytest.mark.parametrize(("kind", "near"), [("8bit", 0.05), ("4bit", 0.3)])
def test_narrow_weights_train_nearly_as_plain_ones(pretrained: dict, tmp_path: Path, kind: str, near: float) -> None:
    plain = trained(pretrained, tmp_path / "plain")
    narrow = trained({**pretrained, "quantize": kind}, tmp_path / "narrow")
    assert narrow["losses"] != plain["losses"]
    assert narrow["losses"] == pytest.approx(plain["losses"], abs=near)
    assert narrow["losses"][-1] < narrow["losses"][0] - 0.3
    for name in ("parameters", "trained_parameters", "flops_per_step"):
        assert narrow["model"][name] == plain["model"][name], name
    lora = next(choice for choice in narrow["choices"] if choice["what"] == "lora")
    assert lora["reason"].endswith(f"frozen, in {kind}")


@needs_it
@pytest.mark.parametrize("kind", ["8bit", "4bit"])
def test_gradients_are_those_of_the_weights_as_they_are_held(pretrained: dict, kind: str) -> None:
    """Against the same model with its narrow weights written out as plain ones."""
    import bitsandbytes
    from bitsandbytes.functional import dequantize_4bit

    run, plain = prepare_run({**pretrained, "quantize": kind}), prepare_run(pretrained)
    batches = run.prepared.source.step(0, 0)
    with torch.no_grad():
        run.trainee.model.eval()
        run.trainee.hidden(batches[0])  # bitsandbytes packs for inference in evaluation mode, if it is let
        run.trainee.model.train()
        others = dict(plain.trainee.model.named_modules())
        narrow = 0
        for name, module in run.trainee.model.named_modules():
            if isinstance(module, (bitsandbytes.nn.Linear4bit, bitsandbytes.nn.Linear8bitLt)):
                weight = module.weight
                if kind == "4bit":
                    others[name].weight.copy_(dequantize_4bit(weight.data, weight.quant_state))
                else:
                    scale = (weight.SCB if weight.SCB is not None else module.state.SCB)[:, None] / 127
                    others[name].weight.copy_(weight.data.float() * scale)
                narrow += 1
        for (_, one), (_, other) in zip(
            run.trainee.model.named_parameters(), plain.trainee.model.named_parameters(), strict=True
        ):
            if one.requires_grad:
                other.copy_(one.normal_(std=0.05))
    assert narrow == 14
    (loss, found), (expected, wanted) = gradients(run, batches), gradients(plain, batches)
    tolerance = 1e-4 if kind == "4bit" else 0.05  # activations are rounded to 8 bits, too
    assert loss == pytest.approx(expected, rel=tolerance)
    assert len(wanted) == 28
    for name, gradient in wanted.items():
        assert (found[name] - gradient).norm() <= tolerance * gradient.norm() + 1e-7, name


@needs_it
def test_what_is_frozen_is_narrow_in_memory(pretrained: dict) -> None:
    sizes = {}
    for kind in ("none", "8bit", "4bit"):
        model = prepare_run({**pretrained, "quantize": kind}).trainee.model
        layers = [p for name, p in model.get_decoder().layers.named_parameters() if not p.requires_grad and p.ndim > 1]
        sizes[kind] = sum(p.numel() * p.element_size() for p in layers)
    assert sizes["8bit"] * 4 == sizes["4bit"] * 8 == sizes["none"]


@needs_it
@pytest.mark.parametrize("kind", ["8bit", "4bit"])
def test_the_merged_model_is_the_whole_one_with_the_adapters(pretrained: dict, tmp_path: Path, kind: str) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    trained({**pretrained, "quantize": kind, "merge_lora": True}, tmp_path / "a")
    run = tmp_path / "a" / "run"
    merged, base = (load_file(folder / "model.safetensors") for folder in (run / "model", tmp_path / "base"))
    assert merged.keys() == base.keys()
    assert {value.dtype for value in merged.values()} == {torch.bfloat16}, "the format of the model it began from"
    assert torch.equal(merged["model.norm.weight"], base["model.norm.weight"])
    assert not torch.equal(merged["model.layers.0.mlp.up_proj.weight"], base["model.layers.0.mlp.up_proj.weight"])
    assert "quantization_config" not in json.loads((run / "model" / "config.json").read_text())
    plain = AutoModelForCausalLM.from_pretrained(tmp_path / "base", dtype=torch.float32)
    expected = PeftModel.from_pretrained(plain, run / "adapter").merge_and_unload().to(torch.bfloat16).state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in merged.items())


@pytest.mark.slow
@needs_it
def test_a_stopped_run_goes_on_to_the_same_losses(pretrained: dict, tmp_path: Path) -> None:
    values = {**pretrained, "quantize": "4bit", "schedule": "constant", "epochs": 0}
    whole = trained({**values, "max_steps": 9}, tmp_path / "whole")
    trained({**values, "max_steps": 4}, tmp_path / "part")
    rest = trained({**values, "max_steps": 9}, tmp_path / "part")
    assert rest["losses"] == whole["losses"][4:]


def refused(values: dict, tmp_path: Path, capsys) -> str:
    (tmp_path / "s.json").write_text(json.dumps(values))
    assert main(["sft", "--config", str(tmp_path / "s.json")]) == 1
    said: str = capsys.readouterr().err
    return said[said.index("error: ") :]


def test_without_the_library_one_command_is_said(pretrained: dict, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    said = refused({**pretrained, "quantize": "4bit"}, tmp_path, capsys)
    assert "needs bitsandbytes" in said
    assert "pip install bitsandbytes" in said
    assert len(said.strip().splitlines()) == 2


@needs_it
def test_what_has_nothing_to_quantise_or_to_train_is_refused(pretrained: dict, tiny: dict, tmp_path, capsys) -> None:
    said = refused({**pretrained, "quantize": "8bit", "lora_rank": 0}, tmp_path, capsys)
    assert "no adapters to train" in said
    said = refused({**tiny, "quantize": "8bit", "lora_rank": 4}, tmp_path, capsys)
    assert "no model to start from" in said
    run = prepare_run({**pretrained, "quantize": "4bit"})
    loop.train(run, [lambda counts, now: True])
    assert len(run.history.losses) == 1
