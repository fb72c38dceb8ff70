"""Data for measuring the other tasks, made from the bundled chats: pairs with hard negatives, and plain texts."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from trainer.data.workloads import Workload
from trainer.options.settings import from_mapping

# What both sides of a comparison have in common. With rows of 512 a step of pretraining fits a window on two cores.
SHARED: dict[str, dict[str, Any]] = {"sft": {}, "gritlm": {}, "pretrain": {"tokens_per_row": 512}}
UNIT = {"sft": "trained", "gritlm": "real", "pretrain": "trained"}  # tokens that the task is about


def data_of(task: str, workload: Workload, preset: str, folder: Path) -> list[str]:
    """The settings' `data` for that task; shards are prepared here, outside the timing."""
    chats = [json.loads(line)["messages"] for line in workload.data.read_text(encoding="utf-8").splitlines()]
    if task == "gritlm":
        return [_lines(folder / "pairs.jsonl", _pairs(chats)), str(workload.data)]
    if task == "pretrain":
        texts = _lines(
            folder / "texts.jsonl", [{"text": "\n".join(turn["content"] for turn in chat)} for chat in chats]
        )
        return [texts] if preset == "before" else [_shards(texts, workload, folder)]
    return []


def _pairs(chats: list[Any]) -> list[dict[str, Any]]:
    draw = random.Random(0)
    turns = [[turn for turn in chat if turn["role"] != "system"][:2] for chat in chats]
    answers = [answer["content"] for _, answer in turns]
    return [
        {
            "query": ["Find the answer", question["content"]], "positives": [answer["content"]],
            "negatives": draw.sample(answers, 4),
        }
        for question, answer in turns
    ]  # fmt: skip


def _shards(texts: str, workload: Workload, folder: Path) -> str:
    from trainer.data.prepare import prepare

    target = folder / "shards"
    values = {"data": [texts], "tokenizer": str(workload.tokenizer), "output": str(target)}
    prepare(from_mapping(values, "benchmark"), lambda _: None)
    return str(target)


def _lines(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)
