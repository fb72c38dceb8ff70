"""After the training: the card, the push to a Hub on loopback, and the chat with what came out."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.trainer.conftest import chat, write_lines
from tests.trainer.data.test_hub import make_model, runs
from tests.trainer.loopbackhub import serving
from trainer.__main__ import main
from trainer.data.workloads import DATA


def learnt(tiny: dict, tmp_path: Path) -> Path:
    """A run that has learnt one answer by heart."""
    rows = [{"instruction": "what is it", "output": "the cost of order"}] * 8
    values = {**tiny, "data": [str(write_lines(tmp_path / "d.jsonl", rows))], "learning_rate": 2e-2, "epochs": 40}
    (tmp_path / "s.json").write_text(json.dumps({**values, "eval_share": 0.2, "keep_best": False}))
    assert main(["sft", "--config", str(tmp_path / "s.json"), "--report", str(tmp_path / "report.json")]) == 0
    return tmp_path / "run" / "model"


def test_a_chat_answers_as_it_was_taught(tiny: dict, tmp_path: Path, capsys, monkeypatch) -> None:
    folder = learnt(tiny, tmp_path)
    capsys.readouterr()
    assert main(["chat", str(folder), "--prompt", "what is it", "--max_new_tokens", "16", "--device", "cpu"]) == 0
    assert capsys.readouterr().out.strip() == "the cost of order"
    monkeypatch.setattr("sys.stdin", io.StringIO("what is it\n\nwhat is it\n/end\n"))
    assert main(["chat", str(folder), "--max_new_tokens", "16", "--device", "cpu"]) == 0
    assert capsys.readouterr().out.split("\n")[:2] == ["the cost of order"] * 2
    assert main(["chat", str(folder.parent / "modle")]) == 1
    assert f"Did you mean {folder}?" in capsys.readouterr().err
    ends = json.loads((folder / "generation_config.json").read_text())["eos_token_id"]
    assert 1 in ends, "the tokenizer's end token, which the model's configuration did not know"
    header, _, card = (folder / "README.md").read_text().partition("---\n")[2].partition("---\n")
    assert yaml.safe_load(header)["library_name"] == "transformers"
    report = json.loads((tmp_path / "report.json").read_text())
    assert f"| loss | {report['first_loss']:.4g} → {report['last_loss']:.4g} |" in card
    for word in ("torch ", "tokens/s", "- learning_rate: 0.02", "alpaca", "validation loss"):
        assert word in card


@pytest.mark.slow
def test_a_trained_model_is_pushed_and_a_refusal_is_no_success(tmp_path: Path) -> None:
    root, home = tmp_path / "hub", tmp_path / "home"
    home.mkdir()
    make_model(root / "models" / "lab" / "m")
    for extra in (DATA / "tokenizer").iterdir():
        (root / "models" / "lab" / "m" / extra.name).write_bytes(extra.read_bytes())
    data = write_lines(home / "d.jsonl", [chat(2, 5, n) for n in range(4)])
    line = f"sft --model lab/m --data {data} --max_steps 2 --tokens_per_row 128 --threads 1 --output run --push_to "
    with serving(root) as hub:
        (code, said), (away, _) = runs(
            hub, home, shlex.split(line + "me/mine"), shlex.split(line.replace("run ", "two ") + "gated/mine"),
            HF_TOKEN="hf_test",
        )  # fmt: skip
        assert code == 0, said
        assert f"pushed: {hub.url}/me/mine" in said
        sent = {name.partition("me/mine/")[2]: content for name, content in hub.uploaded.items()}
        assert set(sent) >= {"config.json", "model.safetensors", "tokenizer.json", "README.md"}
        assert sent["model.safetensors"] == (home / "run" / "model" / "model.safetensors").read_bytes()
        assert b'base_model: "lab/m"' in sent["README.md"]
        assert away == 1


def test_pipeline_answers_as_our_chat_from_the_adapter_and_from_the_merged_model(
    tiny: dict, tmp_path: Path, capsys
) -> None:
    """And the adapter's files are what vLLM's loader asks for, by its source (vllm/lora/peft_helper.py and utils.py of
    0.9 and later): rank, alpha and targets, no modules_to_save, no DoRA, tensors named base_model.model.LAYER.lora_A.
    """
    from safetensors import safe_open
    from transformers import pipeline

    base = tmp_path / "base"
    make_model(base)
    for extra in (DATA / "tokenizer").iterdir():
        (base / extra.name).write_bytes(extra.read_bytes())
    (base / "generation_config.json").write_text(json.dumps({"eos_token_id": 1, "pad_token_id": 0}))
    rest = {name: value for name, value in tiny.items() if name not in ("model_config", "tokenizer")}
    rest |= {"model": str(base), "lora_rank": 16, "merge_lora": True, "save_precision": "float32"}
    learnt(rest, tmp_path)
    said = {}
    for name in ("adapter", "model"):
        folder = tmp_path / "run" / name
        capsys.readouterr()
        assert main(["chat", str(folder), "--prompt", "what is it", "--max_new_tokens", "12", "--device", "cpu"]) == 0
        ours = capsys.readouterr().out.strip()
        made = pipeline("text-generation", model=str(folder), device="cpu", dtype="float32")
        asked = [{"role": "user", "content": "what is it"}]
        (theirs,) = made(asked, max_new_tokens=12, do_sample=False)
        said[name] = theirs["generated_text"][-1]["content"].strip()
        assert said[name] == ours
    assert said["adapter"] == said["model"] == "the cost of order"
    config = json.loads((tmp_path / "run" / "adapter" / "adapter_config.json").read_text())
    assert config["r"] == 16
    assert config["lora_alpha"] == 32
    assert config["target_modules"]
    assert not config["modules_to_save"]
    assert not config["use_dora"]
    assert config["bias"] == "none"
    with safe_open(tmp_path / "run" / "adapter" / "adapter_model.safetensors", "pt") as tensors:
        names = list(tensors.keys())
    assert names
    assert all(re.fullmatch(r"base_model\.model\.model\.layers\.\d+\.\w+\.\w+\.lora_[AB]\.weight", n) for n in names)
