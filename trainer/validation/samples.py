"""Answers of the model in training to fixed prompts, the likeliest token each time: all prompts packed into one pass.

There is no cache of keys and values: each token is one forward pass over everything so far, as training computes it,
with any attention, under any wrapper. For a few prompts and some dozen tokens that is cheaper than a second model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trainer.data.batches import Batch, pack, pad_rows
from trainer.data.dialogue import prompt_text
from trainer.data.examples import read_rows
from trainer.data.fasttokenizer import Tokenizer
from trainer.data.tokenizer import pad_id
from trainer.options.settings import Settings
from trainer.state import Run


def prompts_of(settings: Settings, tokenizer: Tokenizer) -> list[tuple[str, list[int]]]:
    """(what is shown, ids) of each prompt. A file has a text in each line, or rows with the prompt or messages column;
    anything else is a text of its own, put to the model as a user's turn where the tokenizer has a chat template.
    """
    found: list[tuple[str, list[int]]] = []
    for item in settings.sample_prompts:
        for shown, prompt in _prompts(item, settings):
            turn = [{"role": "user", "content": prompt}] if isinstance(prompt, str) and shown == prompt else prompt
            asked = turn if tokenizer.chat_template else prompt
            text = prompt_text(f"sample_prompts, {shown!r}", asked, tokenizer)
            found.append((shown, tokenizer(text, add_special_tokens=False)["input_ids"]))
    return found


def _prompts(item: str, settings: Settings) -> list[tuple[str, Any]]:
    path = Path(item)
    if not path.is_file():
        return [(item, item)]
    if path.suffix not in (".jsonl", ".json", ".parquet"):
        return [(line, line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    found: list[tuple[str, Any]] = []
    for place, row in read_rows([path]):
        prompt = row.get(settings.messages_field, row.get(settings.prompt_field, ""))
        while isinstance(prompt, list) and prompt and prompt[-1].get("role") == "assistant":
            prompt = prompt[:-1]
        found.append((prompt[-1]["content"] if isinstance(prompt, list) else f"{place}: {prompt}", prompt))
    return found


def answers(run: Run, prompts: Sequence[list[int]], most: int, fill: int = 0) -> list[list[int]]:
    """Ids that follow each prompt, up to an end token or `most`. Every process of a group computes the same.

    fill: width of a packed row that compiled code wants.
    """
    trainee, stops = run.trainee, ends(run)
    found: list[list[int]] = [[] for _ in prompts]
    open_ones = list(range(len(prompts)))
    for _ in range(most):
        batch = _batch(run, [prompts[index] + found[index] for index in open_ones], fill)
        chosen: list[int] = run.group.compute(_likeliest, trainee, batch.to(trainee.device)).tolist()
        for index, token in zip(open_ones, chosen):
            found[index].append(token)
        open_ones = [index for index in open_ones if found[index][-1] not in stops]
        if not open_ones:
            break
    return found


def ends(run: Run) -> set[int]:
    """Ids that end an answer: the model's, and the tokenizer's."""
    given = getattr(run.trainee.model.generation_config, "eos_token_id", None)
    return {*([given] if isinstance(given, int) else given or []), run.prepared.tokenizer.eos_token_id} - {None}


def _batch(run: Run, documents: list[list[int]], fill: int) -> Batch:
    arrays = [(np.asarray(ids, dtype=np.int64), np.ones(len(ids), np.int64)) for ids in documents]
    lengths = [len(ids) for ids in documents]
    if run.trainee.attention is None:
        batch = pad_rows(arrays, pad_id(run.prepared.tokenizer))
        last = np.arange(len(lengths)) * max(lengths) + np.asarray(lengths) - 1
    else:
        batch, last = pack(arrays, fill), np.cumsum(lengths) - 1
    from dataclasses import replace

    return replace(batch, positions=torch.from_numpy(last))


def _likeliest(trainee: Any, batch: Batch) -> torch.Tensor:
    """The token that follows each of the batch's positions, int64 of shape (positions,)."""
    with trainee.computing():
        if trainee.own_logits:
            scores = trainee.logits(batch)[batch.positions]
        else:
            hidden = trainee.hidden(batch)[batch.positions]
            scores = hidden @ trainee.head.t().to(hidden.dtype)
    return scores.argmax(-1)


def write(path: Path, step: int, shown: Sequence[str], texts: Sequence[str]) -> None:
    """Add the answers of a step to a file of JSON lines."""
    with path.open("a", encoding="utf-8") as stream:
        for prompt, text in zip(shown, texts):
            stream.write(json.dumps({"step": step, "prompt": prompt, "answer": text}, ensure_ascii=False) + "\n")
