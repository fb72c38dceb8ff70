"""Model families whose attention is more than the plain product, packed, against their own eager attention."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import transformers

from tests.trainer.conftest import TINY, chat, write_lines
from trainer.__main__ import main
from trainer.data.batches import pack, pad_rows
from trainer.data.workloads import DATA
from trainer.model.build import build, layers_of
from trainer.model.perdocument import Extras, by_document
from trainer.options.settings import from_mapping

SIZES = {name: value for name, value in TINY.items() if name not in ("model_type", "tie_word_embeddings")}
FAMILIES = {
    "soft cap": transformers.Gemma2Config(**SIZES, head_dim=8, attn_logit_softcapping=0.5, sliding_window=6),
    "window": transformers.MistralConfig(**SIZES, sliding_window=6),
    "window of every other layer": transformers.Gemma3TextConfig(**SIZES, head_dim=8, sliding_window=6),
    "layers of another name": transformers.GPT2Config(vocab_size=2048, n_embd=32, n_layer=2, n_head=4, n_positions=512),
}


def folder_of(config, path: Path) -> Path:
    torch.manual_seed(1)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(path)
    for file in (DATA / "tokenizer").iterdir():
        (path / file.name).write_bytes(file.read_bytes())
    return path


@pytest.mark.parametrize("name", FAMILIES)
def test_a_packed_document_has_the_states_of_the_models_own_attention(tmp_path: Path, name: str) -> None:
    folder = folder_of(FAMILIES[name], tmp_path / "m")
    values = {"model": str(folder), "precision": "float32", "device": "cpu", "threads": 1, "tokens_per_row": 64}
    trainee = build(from_mapping(values, "test"), None)
    own = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    trainee.model.eval()
    documents = [[(5 * n + shift) % 2000 for n in range(size)] for shift, size in ((1, 4), (3, 23), (8, 11))]
    with trainee.held, torch.no_grad():
        found = trainee.hidden(pack([(ids, [1] * len(ids)) for ids in documents]))
        for ids, states in zip(documents, found.split([len(ids) for ids in documents]), strict=True):
            wanted = own.get_decoder()(torch.tensor([ids]), use_cache=False).last_hidden_state[0]
            assert torch.allclose(states, wanted, atol=1e-4)
            plain = own(torch.tensor([ids]), use_cache=False).logits[0]
            assert torch.allclose(trainee.logits(pack([(ids, [1] * len(ids))])), plain, atol=1e-4)


@pytest.mark.parametrize("name", FAMILIES)
def test_padded_rows_have_the_states_of_the_models_own_attention(tmp_path: Path, name: str) -> None:
    """Also where transformers has no SDPA for the model."""
    folder = folder_of(FAMILIES[name], tmp_path / "m")
    values = {"model": str(folder), "precision": "float32", "device": "cpu", "threads": 1, "packing": "off"}
    trainee = build(from_mapping({**values, "attention": "model"}, "test"), None)
    own = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    trainee.model.eval()
    documents = [[(5 * n + shift) % 2000 for n in range(size)] for shift, size in ((1, 4), (3, 23), (8, 11))]
    with trainee.held, torch.no_grad():
        found = trainee.hidden(pad_rows([(ids, [1] * len(ids)) for ids in documents], 0)).view(3, 23, -1)
        for ids, states in zip(documents, found, strict=True):
            wanted = own.get_decoder()(torch.tensor([ids]), use_cache=False).last_hidden_state[0]
            assert torch.allclose(states[: len(ids)], wanted, atol=1e-4)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("extras", [Extras(softcap=2.0, window=5), Extras(window=5), Extras(softcap=2.0)])
def test_each_extra_is_that_of_plain_products(extras: Extras, causal: bool) -> None:
    draw = torch.Generator().manual_seed(3)
    query, key, value = (torch.randn(heads, 12, 8, generator=draw) for heads in (4, 2, 2))
    found = by_document(query, key, value, [9, 3], 0.3, causal, extras)
    key, value = key.repeat_interleave(2, 0), value.repeat_interleave(2, 0)
    scores = query @ key.mT * 0.3
    scores = extras.softcap * torch.tanh(scores / extras.softcap) if extras.softcap else scores
    for i in range(12):
        for j in range(12):
            far = extras.window is not None and abs(i - j) >= extras.window
            if (i < 9) != (j < 9) or (causal and j > i) or far:
                scores[:, i, j] = float("-inf")
    assert torch.allclose(found, (scores.softmax(-1) @ value).transpose(0, 1), atol=1e-5)


def test_dropout_of_the_weights_is_drawn_and_ends_with_training() -> None:
    draws = [by_document(*[torch.ones(2, 50, 4)] * 3, [50], 1.0, True, Extras(dropout=0.5)) for _ in range(2)]
    assert not torch.equal(*draws)
    assert float(torch.stack(draws).mean()) == pytest.approx(1.0, abs=0.15)


def test_gpt2_with_its_dropout_trains_is_recomputed_and_goes_on(tmp_path: Path) -> None:
    """The whole way: weights of a config of its own names, 10 % dropout, plain template, LoRA on Conv1D."""
    folder = folder_of(FAMILIES["layers of another name"], tmp_path / "m")
    data = write_lines(tmp_path / "d.jsonl", [chat(2, 4, n) for n in range(12)])
    line = ["sft", "--model", str(folder), "--data", str(data), "--max_steps", "4", "--tokens_per_row", "64",
            "--threads", "1", "--eval_share", "0.2", "--chat_template", "plain", "--learning_rate", "1e-2",
            "--precision", "float32", "--schedule", "constant", "--cache", str(tmp_path / "cache")]  # fmt: skip
    reports = []
    for name, more in {"plain": [], "again": ["--recompute", "full"], "lora": ["--lora_rank", "4"]}.items():
        report = tmp_path / f"{name}.json"
        assert main([*line, "--output", str(tmp_path / name), "--report", str(report), *more]) == 0
        reports.append(json.loads(report.read_text()))
    plain, again, adapters = reports
    assert again["losses"] == pytest.approx(plain["losses"], rel=1e-4)  # the masks were drawn again as they were
    assert plain["last_loss"] < plain["first_loss"]
    assert "c_attn" in json.dumps(adapters["choices"])
    assert len(layers_of(transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "plain" / "model"))) == 2
