"""Pretraining on token shards: every row has the same width, and its content follows from (seed, epoch) alone.

The shards come from `envdoctor train prepare`, or are made of texts in the cache. They are mapped into memory, so that
a step costs a few copies of some kilobytes, and resuming is two numbers. Texts too large for that are streamed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from trainer.data import prepare, tokens
from trainer.data.batches import PaddedSource
from trainer.data.examples import existing_files
from trainer.data.fasttokenizer import Tokenizer
from trainer.data.heldout import HeldOutRows
from trainer.data.intheloop import InTheLoop
from trainer.data.shardrows import ShardSource
from trainer.data.shards import Shards, open_shards, tokenizer_fingerprint
from trainer.data.source import NoValidation, Prepared, Validation
from trainer.data.streamed import fingerprint
from trainer.data.streamedtexts import TextStream
from trainer.data.texts import check_end_token, texts
from trainer.data.tokenizer import load_tokenizer, pad_id
from trainer.data.workloads import Workload
from trainer.errors import TrainerError
from trainer.options.settings import Settings
from trainer.tasks.task import Task


class Pretrain(Task):
    """Pretraining on texts, or on token shards that `prepare` has written of them."""

    example = (
        "python -m trainer pretrain --preset production --model_config CONFIG.json --tokenizer TOKENIZER --data TEXTS"
    )
    plan_settings = (
        "pretokenize", "packing", "separate_documents", "tokens_per_row", "examples_per_batch", "accumulate", "seed",
        "workload",
    )  # fmt: skip

    def planned_by(self, settings: Settings) -> tuple[str, ...]:
        """The buffer is part of the plan of what is streamed."""
        return self.plan_settings + (("streaming", "shuffle_buffer") if settings.streaming else ())

    def prepare(self, settings: Settings, workload: Workload | None) -> Prepared:
        """Map the shards and plan the steps; with pretokenize off, tokenise the texts in the loop instead."""
        tokenizer = load_tokenizer(settings, workload)
        if not settings.pretokenize and not settings.streaming:
            return self._in_the_loop(settings, tokenizer)
        if not settings.packing and settings.separate_documents:
            raise TrainerError(
                "bad-setting",
                "setting packing=false: rows of a plain batch cannot keep their documents apart",
                "Set separate_documents=false as well, or leave packing on.",
            )
        if not settings.data:
            raise TrainerError(
                "no-data", "no data", "Set data to texts, or to folders that `envdoctor train prepare` has written."
            )
        if settings.streaming:
            return self._streamed(settings, tokenizer)
        folders = _shards(settings.data, settings, tokenizer)
        shards = [shard for folder in folders for shard in folder.shards]
        source = ShardSource(shards, settings)
        if not source.rows:
            raise TrainerError(
                "too-few-tokens",
                f"no shard has a row of tokens_per_row + 1 = {settings.tokens_per_row + 1} tokens",
                "Lower tokens_per_row, or prepare more text.",
            )
        held, judged = _of_its_own(settings, tokenizer)
        if settings.eval_share:
            held = HeldOutRows(source.hold_out(settings.eval_share))
        total = sum(folder.tokens for folder in folders)
        facts: dict[str, Any] = {
            "files": list(settings.data), "fingerprint": " ".join(folder.identity for folder in folders),
            "tokens": total,
            "examples": sum(folder.documents for folder in folders), "shards": len(shards), "rows": source.rows,
            "tokens_left_out": total - source.rows * settings.tokens_per_row,
        }  # fmt: skip
        facts.update(judged)
        return Prepared(source, tokenizer, self.identity(facts["fingerprint"], settings), facts, held)

    def _streamed(self, settings: Settings, tokenizer: Tokenizer) -> Prepared:
        if folders := [name for name in settings.data if Path(name).is_dir()]:
            raise TrainerError(
                "bad-setting", f"setting streaming: {folders[0]} is a folder of token shards, which are mapped anyway",
                "Leave streaming out: of shards no more is in memory than a step holds.",
            )  # fmt: skip
        check_end_token(tokenizer)
        files = existing_files(settings.data)
        content = fingerprint(files, "texts", tokenizer_fingerprint(tokenizer), settings.text_field)
        identity = self.identity(content, settings)
        facts: dict[str, Any] = {"files": list(settings.data), "fingerprint": content, "streamed": True}
        held, judged = _of_its_own(settings, tokenizer)
        facts.update(judged)
        return Prepared(TextStream(files, tokenizer, settings, identity), tokenizer, identity, facts, held)

    def _in_the_loop(self, settings: Settings, tokenizer: Tokenizer) -> Prepared:
        files = existing_files(settings.data)
        content = tokens.fingerprint(files, tokenizer_fingerprint(tokenizer), settings.text_field)
        found = [text for _, text in texts(files, settings.text_field) if text.strip()]
        examples = InTheLoop(found, partial(_cut_documents, tokenizer, settings.tokens_per_row))
        source = PaddedSource(
            examples, settings.examples_per_batch, settings.accumulate, settings.seed, pad_id(tokenizer)
        )
        facts = {"files": [str(path) for path in files], "fingerprint": content}
        return Prepared(source, tokenizer, self.identity(content, settings), facts)


def _shards(names: Sequence[str], settings: Settings, tokenizer: Tokenizer) -> list[Shards]:
    """Those of the folders among `names`, and of the files together."""
    texts_among = [name for name in names if Path(name).is_file()]
    names = [name for name in names if name not in texts_among]
    if texts_among:
        say = partial(print, file=sys.stderr, flush=True)
        names = [str(prepare.in_cache(texts_among, tokenizer, settings, say)), *names]
    folders = [open_shards(Path(name), settings.verify_shards) for name in names]
    for name, folder in zip(names, folders):
        if folder.tokenizer != tokenizer_fingerprint(tokenizer):
            raise TrainerError(
                "other-tokenizer",
                f"{name} was prepared with another tokenizer than the one of this run",
                "Set tokenizer to that one, or prepare the shards with this one.",
            )
    return folders


def _of_its_own(settings: Settings, tokenizer: Tokenizer) -> tuple[Validation, dict[str, str]]:
    """The validation data that is given as files, if it is, and what to say of it."""
    if not settings.eval_data:
        return NoValidation(), {}
    folders = _shards(settings.eval_data, settings, tokenizer)
    shards = [shard for folder in folders for shard in folder.shards]
    held = HeldOutRows(ShardSource(shards, replace(settings, accumulate=1, seed=0)))
    return held, {"eval_fingerprint": " ".join(folder.identity for folder in folders)}


def _cut_documents(tokenizer: Tokenizer, width: int, found: list[str]) -> list[tokens.Encoded]:
    """Documents with their end token, cut to `width` ids, all of them trained."""
    rows = tokenizer(found, add_special_tokens=False)["input_ids"]
    cut = [[*ids, tokenizer.eos_token_id][:width] for ids in rows]
    return [(ids, [1] * len(ids)) for ids in cut]
