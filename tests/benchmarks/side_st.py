"""One side of the pairs comparison: sentence-transformers' trainer with its in-batch loss, in turns.

The same initial weights, read both ways (is_causal off) with mean pooling, the same texts with the same
batches of pairs, temperature 0.02 (scale 50). It tokenises in its collator, as it always does. bfloat16, off by default
there, is on where the CPU multiplies it.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from trainer.compute.hardware import bfloat16_units

from tests.benchmarks.side_trainer import Counts, train


def count(features: list[dict[str, Any]], batch: Any) -> Counts:
    """Pairs and tokens of a batch, which has a mask for each column of texts."""
    masks = [value for name, value in batch.items() if name.endswith("attention_mask")]
    return {
        "pairs": float(len(features)), "real": float(sum(int(mask.sum()) for mask in masks)),
        "slots": float(sum(mask.numel() for mask in masks)),
    }  # fmt: skip


def _reading_both_ways(model: Path, copy: Path) -> Path:
    """A copy of the model's folder whose configuration asks for attention to both sides."""
    shutil.copytree(model, copy)
    config = json.loads((copy / "config.json").read_text(encoding="utf-8"))
    (copy / "config.json").write_text(json.dumps({**config, "is_causal": False}), encoding="utf-8")
    return copy


def main(path: str) -> None:
    """Train in turns as the order in the file `path` says."""
    import torch
    from datasets import Dataset
    from sentence_transformers import (  # type: ignore[import-not-found,unused-ignore]
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
        losses,
    )
    from sentence_transformers.models import Pooling, Transformer  # type: ignore[import-not-found,unused-ignore]

    order = json.loads(Path(path).read_text(encoding="utf-8"))
    if order.get("threads"):
        torch.set_num_threads(int(order["threads"]))
    both_ways = _reading_both_ways(Path(order["model"]), Path(order["folder"]) / "model")
    body = Transformer(str(both_ways), max_seq_length=order["tokens_per_row"])
    for module in body.modules():
        if hasattr(module, "is_causal"):
            module.is_causal = False  # decides where a batch without padding has no mask
    width = json.loads((both_ways / "config.json").read_text(encoding="utf-8"))["hidden_size"]
    model = SentenceTransformer(modules=[body, Pooling(width, "mean")], device="cpu")
    rows = Dataset.from_json(order["pairs"], cache_dir=str(Path(order["folder"]) / "cache"))
    kinds = {
        "in-batch": lambda: losses.MultipleNegativesRankingLoss(model, scale=50.0),
        "cached": lambda: losses.CachedMultipleNegativesRankingLoss(model, scale=50.0, mini_batch_size=8),
    }
    arguments = SentenceTransformerTrainingArguments(
        output_dir=order["folder"], max_steps=10**6, report_to="none", save_strategy="no", use_cpu=True,
        bf16=bool(bfloat16_units()), disable_tqdm=True,
        per_device_train_batch_size=order["pairs_per_batch"], **order["optimizer"],
    )  # fmt: skip
    trainer = SentenceTransformerTrainer(model=model, args=arguments, train_dataset=rows, loss=kinds[order["loss"]]())
    train(order, trainer, ("sentence-transformers",), count)


if __name__ == "__main__":
    main(sys.argv[1])
