"""Pretraining on token shards: every row has the same width, and its content follows from (seed, epoch) alone.

The shards come from `python -m trainer prepare` and are mapped into memory, so that a step costs a few copies of some
kilobytes, and resuming is two numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
import torch

from trainer import tokens
from trainer.batches import Batch, PaddedSource
from trainer.errors import TrainerError
from trainer.examples import existing
from trainer.model import Trainee
from trainer.settings import Settings
from trainer.shardrows import ShardSource
from trainer.shards import open_shards, tokenizer_fingerprint
from trainer.task import Prepared
from trainer.tasks import sft
from trainer.texts import texts
from trainer.workloads import Workload

PLAN = (
    "pretokenize packing separate_documents tokens_per_row examples_per_batch accumulate seed model workload"
).split()


def prepare(settings: Settings, workload: Optional[Workload]) -> Prepared:
    """Map the shards and plan the steps; with pretokenize off, tokenise the texts in the loop instead."""
    tokenizer = sft.load_tokenizer(settings, workload)
    if not settings.pretokenize:
        return _in_the_loop(settings, tokenizer)
    if not settings.packing and settings.separate_documents:
        raise TrainerError(
            "bad-setting",
            "setting packing=false: rows of a plain batch cannot keep their documents apart",
            "Set separate_documents=false as well, or leave packing on.",
        )
    if not settings.data:
        raise TrainerError(
            "no-data", "no data", "Set data to the folders that `python -m trainer prepare` has written."
        )
    folders = [open_shards(Path(name), settings.verify_shards) for name in settings.data]
    for name, folder in zip(settings.data, folders):
        if folder.tokenizer != tokenizer_fingerprint(tokenizer):
            raise TrainerError(
                "other-tokenizer",
                "%s was prepared with another tokenizer than the one of this run" % name,
                "Set tokenizer to that one, or prepare the shards with this one.",
            )
    shards = [shard for folder in folders for shard in folder.shards]
    source = ShardSource(shards, settings)
    if not source.rows:
        raise TrainerError(
            "too-few-tokens",
            "no shard has a row of tokens_per_row + 1 = %d tokens" % (settings.tokens_per_row + 1),
            "Lower tokens_per_row, or prepare more text.",
        )
    total = sum(folder.tokens for folder in folders)
    facts: Dict[str, Any] = {
        "files": list(settings.data), "fingerprint": " ".join(folder.identity for folder in folders), "tokens": total,
        "examples": sum(folder.documents for folder in folders), "shards": len(shards), "rows": source.rows,
        "tokens_left_out": total - source.rows * settings.tokens_per_row,
    }  # fmt: skip
    return Prepared(source, tokenizer, _plan_identity(facts["fingerprint"], settings), facts)


def adapt(trainee: Trainee, settings: Settings) -> None:
    """What supervised fine-tuning does (adapters, when asked for)."""
    sft.adapt(trainee, settings)


def loss(trainee: Trainee, batch: Batch, settings: Settings, scale: float) -> torch.Tensor:
    """Cross-entropy summed over the batch's targets, times `scale`."""
    return sft.loss(trainee, batch, settings, scale)


def _in_the_loop(settings: Settings, tokenizer: Any) -> Prepared:
    files = existing(settings.data)
    identity = tokens.fingerprint(files, tokenizer_fingerprint(tokenizer), settings.text_field)
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id or 0
    source = PaddedSource(
        InTheLoop(files, tokenizer, settings), settings.examples_per_batch, settings.accumulate, settings.seed, pad
    )
    facts = {"files": [str(path) for path in files], "fingerprint": identity}
    return Prepared(source, tokenizer, _plan_identity(identity, settings), facts)


def _plan_identity(identity: str, settings: Settings) -> str:
    return identity + " " + " ".join("%s=%s" % (name, getattr(settings, name)) for name in PLAN)


class InTheLoop:
    """Documents tokenised each time they are asked for and cut to tokens_per_row, as plain collators do; only for
    comparison.
    """

    def __init__(self, files: List[Path], tokenizer: Any, settings: Settings) -> None:
        self.texts = [text for _, text in texts(files, settings.text_field) if text.strip()]
        self.tokenizer, self.width = tokenizer, settings.tokens_per_row

    def __len__(self) -> int:
        return len(self.texts)

    def example(self, index: int) -> Tuple[Any, Any]:
        ids = [*self.tokenizer(self.texts[index], add_special_tokens=False)["input_ids"], self.tokenizer.eos_token_id]
        return np.asarray(ids[: self.width]), np.ones(min(len(ids), self.width), np.int64)
