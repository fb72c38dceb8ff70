"""Adapters: what they compute, what they train, what is saved, and that peft reads it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.trainer.conftest import TINY
from tests.trainer.running import gradients, prepare_run, same, weights
from trainer import loop
from trainer.checkpoints import save
from trainer.checkpoints.resume import restore
from trainer.compute import flops
from trainer.data.counts import Counts
from trainer.errors import TrainerError
from trainer.model import lora
from trainer.model.build import Place, build, load_model
from trainer.options.settings import from_mapping
from trainer.state import Run

LAYERS = ["down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"]


def adapted(values: dict, **more) -> Run:
    """A run with adapters whose second factor is not zero, as it is after some training."""
    run = prepare_run({**values, "lora_rank": 4, **more})
    draw = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, parameter in run.trainee.model.named_parameters():
            if "lora_B" in name:
                parameter.copy_(torch.randn(parameter.shape, generator=draw) * 0.2)
    return run


def batch_of(run: Run):
    return run.prepared.source.step(0, 0)[0]


def test_only_adapters_get_gradients_and_change(tiny: dict) -> None:
    run = prepare_run({**tiny, "lora_rank": 4})
    before = weights(run)
    for batch in run.prepared.source.step(0, 0):
        run.task.loss(run.trainee, batch, run.settings, 1e-2).backward()
    with_gradient = {name for name, p in run.trainee.model.named_parameters() if p.grad is not None}
    assert with_gradient == {name for name in before if "lora_" in name}
    assert len(with_gradient) == 2 * 2 * len(LAYERS)
    run.stepper.optimizer.zero_grad(set_to_none=True)
    loop.train(run, [])
    after = weights(run)
    assert all(torch.equal(before[name], after[name]) for name in before if "lora_" not in name)
    assert all(not torch.equal(before[name], after[name]) for name in before if "lora_B" in name)


def test_a_new_adapter_changes_nothing_yet(tiny: dict) -> None:
    plain, run = prepare_run(tiny), prepare_run({**tiny, "lora_rank": 4})
    with torch.no_grad():
        assert torch.equal(plain.trainee.hidden(batch_of(plain)), run.trainee.hidden(batch_of(run)))


def test_merging_computes_the_same(tiny: dict) -> None:
    run = adapted(tiny)
    plain = prepare_run(tiny)
    batch = batch_of(run)
    with torch.no_grad():
        before = run.trainee.logits(batch)
        assert not torch.allclose(before, plain.trainee.logits(batch_of(plain)), atol=1e-2)
        lora.merge(run.trainee)
        assert not [name for name, _ in run.trainee.model.named_parameters() if "lora" in name or "base_layer" in name]
        assert torch.allclose(run.trainee.logits(batch), before, atol=1e-5)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_peft_reads_what_was_saved(tiny: dict, tmp_path, precision: str) -> None:
    from peft import PeftModel

    run = adapted(tiny, precision=precision)
    lora.save(run.trainee, tmp_path / "adapter")
    assert {path.suffix for path in (tmp_path / "adapter").iterdir()} <= {".json", ".safetensors", ".md"}
    torch.manual_seed(0)
    base = prepare_run({**tiny, "packing": False, "attention": "model"}).trainee.model
    loaded = PeftModel.from_pretrained(base, tmp_path / "adapter").eval()
    batch = batch_of(prepare_run({**tiny, "packing": False, "attention": "model", "examples_per_batch": 2}))
    lora.merge(run.trainee)  # and the merged model is what transformers reads
    run.trainee.model.save_pretrained(tmp_path / "model")
    merged = AutoModelForCausalLM.from_pretrained(tmp_path / "model").eval()
    with torch.no_grad():
        want = loaded(**batch.inputs).logits
        tolerance = 1e-4 if precision == "float32" else 0.05  # the frozen matrices were rounded to bfloat16
        assert torch.allclose(merged(**batch.inputs).logits, want, atol=tolerance)


def test_bfloat16_holds_frozen_matrices_in_it_and_adapters_in_float32(tiny: dict) -> None:
    run = adapted(tiny, precision="bfloat16", lora_fused=False)
    kinds = {
        name: parameter.dtype
        for name, parameter in run.trainee.model.named_parameters()
        if parameter.ndim >= 2 and "embed" not in name
    }
    assert {kinds[name] for name in kinds if "lora_" in name} == {torch.float32}
    assert {kinds[name] for name in kinds if "base_layer" in name} == {torch.bfloat16}
    assert {p.dtype for p in run.trainee.model.parameters() if p.ndim == 1} == {torch.float32}
    seen = []
    adapter = run.trainee.model.get_submodule("model.layers.0.self_attn.q_proj.lora_A.default")
    adapter.register_forward_hook(lambda module, inputs, output: seen.append((inputs[0].dtype, output.dtype)))
    full = adapted(tiny)
    losses = [
        float(each.task.loss(each.trainee, batch_of(each), each.settings, 1 / batch_of(each).trained).detach())
        for each in (run, full)
    ]
    assert seen[0][1] == torch.bfloat16
    assert losses[0] == pytest.approx(losses[1], rel=1e-2)


def test_resuming_is_exact_and_checkpoints_hold_adapters_only(tiny: dict, tmp_path) -> None:
    values = {**tiny, "lora_rank": 4, "lora_dropout": 0.2, "epochs": 2}
    whole = prepare_run(values)
    loop.train(whole, [])
    first = prepare_run(values)
    first.saver = save.Saver(tmp_path / "c", 2)
    loop.train(first, [lambda counts, run: run.position.step == 3])
    folder, _ = save.newest(tmp_path / "c")
    state, tensors = save.read(folder)
    assert all("lora_" in name for name in tensors["model"])
    second = prepare_run(values)
    loop.train(second, [], restore(second, state, tensors))
    assert first.history.losses + second.history.losses == whole.history.losses
    assert same(weights(second), weights(whole))


def test_frozen_matrices_count_four_and_adapters_six_flops_per_weight(tiny: dict) -> None:
    run = prepare_run({**tiny, "lora_rank": 4})
    counts = Counts(trained=10, real=100, slots=100, documents=1, squares=0)
    matrices = {
        name: p.numel() for name, p in run.trainee.model.named_parameters() if p.ndim >= 2 and "embed" not in name
    }
    adapters = sum(size for name, size in matrices.items() if "lora_" in name)
    frozen = sum(matrices.values()) - adapters
    assert flops.work_of(run.trainee.model).of(counts) == (
        100 * (4 * frozen + 6 * adapters) + 10 * 4 * run.trainee.head.numel()
    )


@pytest.mark.parametrize(("wanted", "names"), [("auto", LAYERS), ("q_proj, v_proj", ["q_proj", "v_proj"])])
def test_targets(tiny: dict, wanted: str, names: list) -> None:
    assert lora.targets(prepare_run(tiny).trainee.model, wanted) == names


@pytest.mark.parametrize("wanted", ["lm_head", "q_proj,nonsense"])
def test_an_absent_target_is_named_with_those_there_are(tiny: dict, wanted: str) -> None:
    with pytest.raises(TrainerError) as caught:
        prepare_run({**tiny, "lora_rank": 4, "lora_targets": wanted})
    assert repr(wanted.rpartition(",")[2]) in caught.value.message
    assert "q_proj" in caught.value.remedy


def test_recomputation_gives_the_same_gradients_under_dropout(tiny: dict) -> None:
    """With the random state kept, the recomputed forward draws the same masks."""
    results = []
    for recompute in (False, True):
        run = adapted(tiny, lora_dropout=0.3, recompute=recompute)
        torch.manual_seed(11)
        loss = run.task.loss(run.trainee, batch_of(run), run.settings, 1e-2)
        loss.backward()
        results.append({n: p.grad for n, p in run.trainee.model.named_parameters() if p.grad is not None})
    assert all(torch.allclose(results[0][name], results[1][name], atol=1e-6) for name in results[0])


def test_settings_that_give_wrong_gradients_are_refused(tiny: dict, tmp_path) -> None:
    with pytest.raises(TrainerError, match="wrong gradients"):
        from_mapping({**tiny, "recompute": True, "recompute_rng": False, "lora_dropout": 0.1}, "test")
    config = json.loads(Path(tiny["model_config"]).read_text())
    config["attention_dropout"] = 0.1
    dropping = tmp_path / "dropping.json"
    dropping.write_text(json.dumps(config))
    values = {**tiny, "recompute": True, "recompute_rng": False, "model_config": str(dropping)}
    with pytest.raises(TrainerError, match="attention_dropout") as caught:
        build(from_mapping(values, "test"), None)
    assert caught.value.kind == "wrong-gradients"
    without = {**tiny, "recompute": True, "recompute_rng": False}
    plain, quick = prepare_run(tiny), prepare_run(without)  # no dropout: allowed, and the same gradients
    left, right = (gradients(run, [batch_of(run)])[1] for run in (plain, quick))
    assert all(torch.allclose(left[name], right[name], atol=1e-6) for name in left)


@pytest.mark.parametrize("kind", [{}, {"dora": True}, {"rslora": True}])
def test_each_kind_trains_is_loaded_by_peft_and_is_gone_on_from(tiny: dict, tmp_path: Path, kind: dict) -> None:
    from peft import PeftModel

    from trainer.__main__ import main

    base = tmp_path / "base"
    prepare_run(tiny).trainee.model.to(torch.bfloat16).save_pretrained(base)
    values = {name: value for name, value in tiny.items() if name != "model_config"}
    values.update(model=str(base), lora_rank=4, learning_rate=1e-2, merge_lora=True, **kind)
    config = tmp_path / "s.json"

    def trained(name: str, **more: object) -> Path:
        config.write_text(json.dumps({**values, "output": str(tmp_path / name), **more}))
        assert main(["sft", "--config", str(config), "--report", str(tmp_path / "report.json")]) == 0
        return tmp_path / name

    first = trained("first")
    report = json.loads((tmp_path / "report.json").read_text())
    plain = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    ids = torch.tensor([[5, 9, 31, 7]])
    before = plain(input_ids=ids).logits.detach().clone()
    loaded = PeftModel.from_pretrained(plain, first / "adapter").eval()
    merged = AutoModelForCausalLM.from_pretrained(first / "model").eval()
    assert merged.dtype == torch.bfloat16, "in the format of the model it began from"
    with torch.no_grad():
        apart, together = loaded(input_ids=ids).logits, merged.float()(input_ids=ids).logits
    assert (apart - before).abs().max() > 0.05, "it has learnt something"
    assert (apart - together).abs().max() < 0.05 * apart.abs().max()
    told = json.loads((first / "adapter" / "adapter_config.json").read_text())
    assert (told["use_dora"], told["use_rslora"]) == (kind.get("dora", False), kind.get("rslora", False))
    assert told["base_model_name_or_path"] == str(base)
    again = trained("again", adapter=str(first / "adapter"), lora_rank=-1, dora=False, rslora=False)
    second = json.loads((tmp_path / "report.json").read_text())
    assert second["losses"][0] < report["losses"][0] - 0.1, "it goes on from the adapter"
    assert json.loads((again / "adapter" / "adapter_config.json").read_text())["r"] == 4


def test_targets_by_pattern_are_whole_names(tiny: dict) -> None:
    run = prepare_run({**tiny, "lora_rank": 2, "lora_targets": "model.layers.1.*.[qv]_proj,o_proj"})
    trained = {name.partition(".lora_")[0] for name in weights(run) if "lora_" in name}
    assert trained == {
        "model.layers.1.self_attn.q_proj", "model.layers.1.self_attn.v_proj", "model.layers.0.self_attn.o_proj",
        "model.layers.1.self_attn.o_proj",
    }  # fmt: skip
    with pytest.raises(TrainerError, match="matches") as caught:
        prepare_run({**tiny, "lora_rank": 2, "lora_targets": "model.layers.7.*"})
    assert "model.layers." in caught.value.remedy
    with pytest.raises(TrainerError, match="adapter_config"):
        prepare_run({**tiny, "adapter": "/nonexistent"})


def test_a_frozen_model_is_loaded_in_the_format_it_stays_in(tiny: dict, tmp_path) -> None:
    """Narrowed on the host, before anything comes to the device; from a bfloat16 folder, never as float32."""
    from transformers import AutoConfig, AutoModelForCausalLM

    values = dict(TINY, tie_word_embeddings=False)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(values.pop("model_type"), **values))
    model.to(torch.bfloat16).save_pretrained(tmp_path / "model")
    settings = {**tiny, "model_config": None, "model": str(tmp_path / "model"), "precision": "bfloat16", "lora_rank": 4}
    trainee = build(from_mapping(settings, "test"), None, Place(frozen=True))
    kinds = {name: p.dtype for name, p in trainee.model.named_parameters()}
    assert kinds["model.layers.0.mlp.up_proj.weight"] == kinds["lm_head.weight"] == torch.bfloat16
    assert kinds["model.embed_tokens.weight"] == kinds["model.layers.0.input_layernorm.weight"] == torch.float32
    assert not any(p.requires_grad for p in trainee.model.parameters())
    trainee.held.close()


def test_a_hollow_model_has_the_shapes_and_ties_of_the_real_one(tiny: dict) -> None:
    settings = from_mapping(tiny, "test")
    hollow, real = (load_model(settings, None, "sdpa", hollow=empty) for empty in (True, False))
    assert {p.device.type for p in hollow.parameters()} == {"meta"}
    assert [(n, p.shape, p.dtype) for n, p in hollow.named_parameters()] == [
        (n, p.shape, p.dtype) for n, p in real.named_parameters()
    ]
    assert hollow.lm_head.weight is hollow.model.embed_tokens.weight
    assert all(torch.equal(a, b) for a, b in zip(hollow.buffers(), real.buffers(), strict=True))
