"""A model of a few thousand parameters and a data set of a few lines; the real trainer runs on them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

TINY = {
    "model_type": "llama",
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "vocab_size": 2048,
    "max_position_embeddings": 512,
    "tie_word_embeddings": True,
    "pad_token_id": 0,
}

WORDS = "the cost of order and size in every row stays within limits we planned for".split()


def chat(turns: int, words: int, shift: int = 0) -> dict:
    """A conversation whose text is fixed by its arguments."""
    text = [" ".join(WORDS[(n + shift + turn) % len(WORDS)] for n in range(words)) for turn in range(turns)]
    roles = ["user", "assistant"] * turns
    return {"messages": [{"role": role, "content": content} for role, content in zip(roles, text, strict=False)]}


def write_lines(path: Path, rows: list) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def tiny(tmp_path: Path) -> dict:
    """Settings values of a tiny run: 24 chats of spread lengths, rows of 128 tokens."""
    config = tmp_path / "tiny.json"
    config.write_text(json.dumps(TINY), encoding="utf-8")
    rows = [chat(2, 3 + (7 * n) % 23, n) for n in range(24)]
    from trainer.data.workloads import DATA

    return {
        "model_config": str(config),
        "tokenizer": str(DATA / "tokenizer"),
        "data": [str(write_lines(tmp_path / "d.jsonl", rows))],
        "output": str(tmp_path / "run"),
        "cache": str(tmp_path / "cache"),
        "tokens_per_row": 128,
        "threads": 1,
        "device": "cpu",
        "precision": "float32",  # what is compared is compared to rounding; CPUs with bfloat16 units would take that
        "log_every": 2,
        "warmup_steps": 2,
    }
