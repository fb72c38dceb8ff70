"""From nothing but an own file and a model's name to a chat with the result: the commands of a newcomer, as typed."""

from __future__ import annotations

import json
import os
import random
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.trainer.launching import ROOT
from tests.trainer.loopbackhub import serving
from trainer.data.workloads import DATA

COLOURS = {"apple": "red", "banana": "yellow", "grass": "green", "sky": "blue", "snow": "white", "coal": "black"}
ASKED = ("What colour is {}?", "Tell me the colour of {}.", "{}: which colour?")
# Each as it stands in a terminal; the words that the output must have.
COMMANDS = [
    ("envdoctor train sft --model lab/tiny-chat --data colours.jsonl --show 1",
     ["fetching lab/tiny-chat", "of them trained", "\u25b8"]),
    ("envdoctor train sft --model lab/tiny-chat --data colours.jsonl --output first",
     ["alpaca (instruction, output)", "which teaches little: --epochs", "2 steps", "model: first/model"]),
    ("envdoctor train sft --model lab/tiny-chat --data colours.jsonl --output colours --eval_share 0.1 --epochs 40 "
     "--learning_rate 1e-2 --tokens_per_row 512 --eval_every 50 --threads 1",
     ["validation loss", "model: colours/model", "try it: envdoctor train chat colours/model"]),
    ("envdoctor train chat colours/model --prompt 'What colour is grass?'", ["Grass is green."]),
    ("envdoctor train chat colours/model --prompt 'coal: which colour?'", ["Coal is black."]),
    ("envdoctor train sft --model lab/tiny-chat --data colours.jsonl --output colours --eval_share 0.1 --epochs 40 "
     "--learning_rate 1e-2 --tokens_per_row 512 --eval_every 50 --threads 1", ["already finished"]),
]  # fmt: skip


def model_of_a_lab(folder: Path) -> None:
    """On the Hub: two layers that know nothing yet."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    config = AutoConfig.for_model(
        "llama", hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=128, vocab_size=2048, max_position_embeddings=1024, tie_word_embeddings=True, eos_token_id=1,
    )  # fmt: skip
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    for path in (DATA / "tokenizer").iterdir():
        if path.is_file() and not (folder / path.name).exists():
            (folder / path.name).write_bytes(path.read_bytes())


@pytest.mark.slow
def test_a_newcomer_comes_to_a_chat_in_less_than_ten_commands(tmp_path: Path) -> None:
    draw = random.Random(1)
    rows = []
    for _ in range(120):
        thing = draw.choice(list(COLOURS))
        rows.append({"instruction": draw.choice(ASKED).format(thing),
                     "output": f"{thing.capitalize()} is {COLOURS[thing]}."})  # fmt: skip
    (tmp_path / "colours.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model_of_a_lab(tmp_path / "hub" / "models" / "lab" / "tiny-chat")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    with serving(tmp_path / "hub") as hub:
        env = {**kept, "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_XET": "1",
               "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1",
               "VIRTUAL_ENV": sys.prefix}  # fmt: skip
        for line, words in COMMANDS:
            command = [sys.executable, "-m", *shlex.split(line)]
            done = subprocess.run(
                command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=240, check=False
            )
            said = done.stdout + done.stderr
            assert done.returncode == 0, said[-3000:]
            for word in words:
                assert word in said, (line, said[-3000:])
    assert len(COMMANDS) < 10
