"""Supervised fine-tuning: the model learns the answers of prompt/completion pairs and the assistant's turns of
chats.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Optional

import numpy as np
import torch

from trainer import lora, tokens
from trainer.batches import Batch, PackedSource, PaddedSource, Source
from trainer.dialogue import encode_rows
from trainer.errors import TrainerError
from trainer.examples import read_rows
from trainer.hardware import usable_cores
from trainer.losses import token_loss
from trainer.model import Trainee
from trainer.settings import Settings
from trainer.task import Prepared
from trainer.workers import encode_in_processes, worker_count
from trainer.workloads import Workload


def prepare(settings: Settings, workload: Optional[Workload]) -> Prepared:
    """Tokenise (once, cached by content) and plan the steps."""
    files = [Path(name) for name in settings.data] or ([workload.data] if workload else [])
    missing = [str(path) for path in files if not path.is_file()]
    if missing or not files:
        raise TrainerError(
            "no-data",
            "no such file: %s" % ", ".join(missing) if missing else "no data",
            "Set data to JSON lines or parquet files.",
        )
    tokenizer = load_tokenizer(settings, workload)
    identity = tokens.fingerprint(
        files,
        tokenizer.backend_tokenizer.to_str(),
        str(tokenizer.chat_template),
        repr(
            [
                tokenizer.bos_token,
                tokenizer.eos_token,
                settings.prompt_field,
                settings.completion_field,
                settings.messages_field,
            ]
        ),
        repr([settings.tokens_per_row, settings.over_long]),
    )
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id or 0
    facts: Dict[str, Any] = {"files": [str(path) for path in files], "fingerprint": identity}
    if not settings.pretokenize:
        source: Source = PaddedSource(
            InTheLoop(files, tokenizer, settings), settings.examples_per_batch, settings.accumulate, settings.seed, pad
        )
        return Prepared(source, tokenizer, _plan_identity(identity, settings), facts)
    cache = Path(settings.cache) if settings.cache else tokens.default_cache()
    workers = worker_count(settings.tokenize_workers, files, usable_cores())
    found, reused = tokens.cached(
        cache / identity[:32], lambda: encode_in_processes(read_rows(files), tokenizer, settings, workers)
    )
    facts.update(examples=len(found), tokens=int(found.starts[-1]), reused_tokens=reused)
    if settings.packing:
        source = PackedSource(found, settings.tokens_per_row, settings.accumulate, settings.seed)
        facts["packing_efficiency"] = round(int(found.starts[-1]) / (len(source.rows(0)) * settings.tokens_per_row), 4)
    else:
        source = PaddedSource(found, settings.examples_per_batch, settings.accumulate, settings.seed, pad)
    return Prepared(source, tokenizer, _plan_identity(identity, settings), facts)


def adapt(trainee: Trainee, settings: Settings) -> None:
    """Every weight is trained, unless adapters are asked for."""
    lora.add(trainee, settings)


def loss(trainee: Trainee, batch: Batch, settings: Settings, scale: float) -> torch.Tensor:
    """Cross-entropy summed over the batch's targets, times `scale`."""
    with trainee.computing():
        if settings.head == "all" or trainee.own_logits:
            return _loss_of_all_logits(trainee, batch, scale)
        hidden = trainee.hidden(batch)[batch.positions]
        return token_loss(hidden, trainee.head, batch.targets, scale)


def _loss_of_all_logits(trainee: Trainee, batch: Batch, scale: float) -> torch.Tensor:
    """As plain trainers do it: float32 logits everywhere, and -100 where nothing is predicted."""
    logits = trainee.logits(batch).float()
    labels = torch.full((logits.shape[0],), -100, device=logits.device)
    labels[batch.positions] = batch.targets
    return torch.nn.functional.cross_entropy(logits, labels, ignore_index=-100, reduction="sum") * scale


def load_tokenizer(settings: Settings, workload: Optional[Workload]) -> Any:
    """The fast tokenizer of the settings, the model's folder or the workload; TrainerError when there is none."""
    from transformers import AutoTokenizer

    folder = settings.tokenizer or settings.model or (str(workload.tokenizer) if workload else None)
    if folder is None:
        raise TrainerError("no-tokenizer", "no tokenizer", "Set tokenizer to a folder with tokenizer.json.")
    if not Path(folder).is_dir():
        raise TrainerError(
            "no-tokenizer", "%s: no such folder" % folder, "Set tokenizer to a folder with tokenizer.json."
        )
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise TrainerError(
            "no-tokenizer", "%s: %s" % (folder, str(error).split("\n")[0]), "Give a folder with tokenizer.json."
        ) from None
    if not tokenizer.is_fast:
        raise TrainerError("slow-tokenizer", "%s: only a slow tokenizer" % folder, "Save it with its tokenizer.json.")
    if settings.chat_template:
        try:
            tokenizer.chat_template = Path(settings.chat_template).read_text(encoding="utf-8")
        except OSError as error:
            raise TrainerError(
                "unreadable-file", "%s: %s" % (settings.chat_template, error.strerror), "Check the path."
            ) from None
    return tokenizer


def _plan_identity(identity: str, settings: Settings) -> str:
    names = ["packing", "tokens_per_row", "examples_per_batch", "accumulate", "seed", "model", "workload"]
    if settings.lora_rank > 0:
        names += ["lora_rank", "lora_alpha", "lora_dropout", "lora_targets"]
    return identity + " " + " ".join("%s=%s" % (name, getattr(settings, name)) for name in names)


class InTheLoop:
    """Examples tokenised each time they are asked for, as the usual collator does; only for comparison."""

    def __init__(self, files: List[Path], tokenizer: Any, settings: Settings) -> None:
        self.rows = list(read_rows(files))
        self.tokenizer, self.settings = tokenizer, settings

    def __len__(self) -> int:
        return len(self.rows)

    def example(self, index: int) -> Any:
        place, _ = row = self.rows[index]
        encoded = next(encode_rows([row], self.tokenizer, self.settings), None)
        if encoded is None:  # the plan was made before anybody could know
            raise TrainerError(
                "over-long",
                "%s: longer than tokens_per_row=%d, and without pretokenize it cannot be left out"
                % (place, self.settings.tokens_per_row),
                "Set pretokenize=true, or raise tokens_per_row.",
            )
        return np.asarray(encoded[0]), np.asarray(encoded[1])
