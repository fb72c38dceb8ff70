"""One side of the peers' comparison: transformers' Trainer, or TRL's SFTTrainer, in turns.

Both get the tokenised examples and the initial weights that every side gets, and the optimizer's numbers; all else is
what the library does by itself, or what the side's `arguments` say. Nothing of theirs is replaced: a callback counts
the steps, and the collator is wrapped to count tokens.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.benchmarks.side_trainer import Counts, train


def count(features: list[dict[str, Any]], batch: Any) -> Counts:
    """Documents, tokens and squares of a batch, of its filled-up rows too; packed rows say how long documents are."""
    lengths = [size for one in features for size in one.get("seq_lengths", [len(one["input_ids"])])]
    return {
        "real": float(sum(lengths)), "slots": float(batch["input_ids"].numel()),
        "trained": float((batch["labels"] != -100).sum()), "documents": float(len(lengths)),
        "squares": float(sum(size * size for size in lengths)),
        "cells": float(batch["input_ids"].numel() * batch["input_ids"].shape[-1]),
    }  # fmt: skip


def trainer_of(order: dict[str, Any], model: Any, tokenizer: Any, rows: Any) -> Any:
    """The library's trainer on `rows`, with the side's arguments."""
    shared = {
        "output_dir": order["folder"], "max_steps": 10**6, "report_to": "none", "save_strategy": "no",
        "use_cpu": True, "disable_tqdm": True, **order["optimizer"],
    }  # fmt: skip
    if order["library"] == "transformers":
        from transformers import DataCollatorForSeq2Seq, Trainer, TrainingArguments

        arguments = TrainingArguments(**shared, **order["arguments"])
        return Trainer(model, arguments, DataCollatorForSeq2Seq(tokenizer, padding=True), rows)
    from trl import SFTConfig, SFTTrainer  # type: ignore[import-not-found,unused-ignore]

    return SFTTrainer(
        model, args=SFTConfig(**shared, **order["arguments"]), train_dataset=rows, processing_class=tokenizer
    )


def main(path: str) -> None:
    """Train in turns as the order in the file `path` says."""
    import torch
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer

    order = json.loads(Path(path).read_text(encoding="utf-8"))
    if order.get("threads"):
        torch.set_num_threads(int(order["threads"]))
    model = AutoModelForCausalLM.from_pretrained(order["model"], dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(order["model"])
    rows = Dataset.from_json(order["examples"], cache_dir=str(Path(order["folder"]) / "cache"))
    trainer = trainer_of(order, model, tokenizer, rows)
    train(order, trainer, ("accelerate", "datasets", order["library"]), count)


if __name__ == "__main__":
    main(sys.argv[1])
