"""What all sides of the peers' comparison share: one set of initial weights, and one tokenised file.

Runs in the peers' interpreter, once per size. Tokens come from this trainer's own encoder; the file's order is shuffled
once, so that a side that takes examples as they come is not fed by topic.
"""

from __future__ import annotations

import json
import sys
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


def main(path: str) -> None:
    """Write model/, chat.jsonl and examples.jsonl (input_ids, labels) into the order's folder."""
    order: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    folder = Path(order["folder"])
    workload = workloads.find(order["workload"])
    values = {"workload": workload.name, "tokens_per_row": order["tokens_per_row"]}
    if order.get("config"):
        (folder / "config.json").write_text(json.dumps({**workload.config, **order["config"]}), encoding="utf-8")
        values["model_config"] = str(folder / "config.json")
    settings = from_mapping(values, "benchmark")
    tokenizer = load_tokenizer(settings, workload)
    torch.manual_seed(settings.seed)
    model = load_model(settings, workload, "sdpa")
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    lines = workload.data.read_text(encoding="utf-8").splitlines()
    lines = [lines[index] for index in np.random.default_rng(0).permutation(len(lines))]
    chat = folder / "chat.jsonl"
    chat.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = tokens.collect(encode_rows(read_rows([chat]), tokenizer, settings))
    with (folder / "examples.jsonl").open("w", encoding="utf-8") as stream:
        for index in range(len(found)):
            ids, trained = found.example(index)
            labels = np.where(np.asarray(trained) > 0, np.asarray(ids, np.int64), -100)
            stream.write(json.dumps({"input_ids": ids.tolist(), "labels": labels.tolist()}) + "\n")
    sizes: list[int] = found.lengths.tolist()
    facts = {
        "parameters": sum(p.numel() for p in model.parameters()), "examples": len(sizes), "tokens": sum(sizes),
        "trained": int(np.count_nonzero(found.trained)),
        "lengths": dict(zip(("least", "median", "most"), (min(sizes), int(np.median(sizes)), max(sizes)))),
    }  # fmt: skip
    (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
