"""What all sides of the peers' comparison share: one set of initial weights, and one tokenised file.

Runs in the peers' interpreter, once per size. Tokens come from this trainer's own encoder; the file's order is shuffled
once, so that a side that takes examples as they come is not fed by topic. A row is as long as eight average chats; the
few chats that are longer than that are left out on every side.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from trainer.data import tokens, workloads
from trainer.data.dialogue import encode_rows
from trainer.data.examples import read_rows
from trainer.data.tokenizer import load_tokenizer
from trainer.model.build import load_model
from trainer.options.settings import from_mapping

BATCH = 8  # transformers' default
ANY = 1 << 20  # tokens a chat may have while it is not known which are too long


def row_size(lengths: Sequence[int], most: int) -> int:
    """Tokens of a row: what BATCH chats no longer than a row have on average, in whole steps of 32; `most` at most."""
    kept = np.asarray(lengths)
    while True:
        row = min(most, int(-(-BATCH * kept.mean() // 32)) * 32)
        if kept.max() <= row:
            return row
        kept = kept[kept <= row]


def main(path: str) -> None:
    """Write model/, chat.jsonl, examples.jsonl (input_ids, labels) and facts.json into the order's folder."""
    order: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    folder = Path(order["folder"])
    workload = workloads.find(order["workload"])
    values = {"workload": workload.name, "tokens_per_row": ANY}
    if order.get("config"):
        (folder / "config.json").write_text(json.dumps({**workload.config, **order["config"]}), encoding="utf-8")
        values["model_config"] = str(folder / "config.json")
    settings = from_mapping(values, "benchmark")
    tokenizer = load_tokenizer(settings, workload)
    torch.manual_seed(settings.seed)
    model = load_model(settings, workload, "sdpa")
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    rows = [row for _, row in read_rows([Path(order["data"]) if order.get("data") else workload.data])]
    rows = [rows[index] for index in np.random.default_rng(0).permutation(len(rows))]
    encoded = list(encode_rows((("row %d" % index, row) for index, row in enumerate(rows)), tokenizer, settings))
    row_tokens = row_size([len(ids) for ids, _ in encoded], model.config.max_position_embeddings)
    fitting = [index for index, (ids, _) in enumerate(encoded) if len(ids) <= row_tokens]
    chats = "".join(json.dumps(rows[index]) + "\n" for index in fitting)
    (folder / "chat.jsonl").write_text(chats, encoding="utf-8")
    found = tokens.collect(encoded[index] for index in fitting)
    with (folder / "examples.jsonl").open("w", encoding="utf-8") as stream:
        for index in range(len(found)):
            ids, trained = found.example(index)
            labels = np.where(np.asarray(trained) > 0, np.asarray(ids, np.int64), -100)
            stream.write(json.dumps({"input_ids": ids.tolist(), "labels": labels.tolist()}) + "\n")
    sizes: list[int] = found.lengths.tolist()
    facts = {
        "parameters": sum(p.numel() for p in model.parameters()), "examples": len(sizes), "tokens": sum(sizes),
        "trained": int(np.count_nonzero(found.trained)), "tokens_per_row": row_tokens,
        "left_out": len(rows) - len(fitting),
        "lengths": dict(zip(("least", "median", "most"), (min(sizes), int(np.median(sizes)), max(sizes)))),
    }  # fmt: skip
    (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
