"""Supervised fine-tuning: the model learns the answers of prompt/completion pairs and the assistant's turns of
chats.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from trainer.compute.hardware import usable_cores
from trainer.data import tokens
from trainer.data.batches import PackedSource, PaddedSource
from trainer.data.dialogue import encode_rows
from trainer.data.examples import CountedRows, Row, existing_files, read_rows
from trainer.data.fasttokenizer import Tokenizer
from trainer.data.formats import describe_formats
from trainer.data.heldout import Examples, HeldOut, split
from trainer.data.intheloop import InTheLoop
from trainer.data.mixture import ConcatenatedSources, Mixture
from trainer.data.remote import is_remote
from trainer.data.source import NoValidation, Prepared, Source, Validation
from trainer.data.streamed import DialogueStream, fingerprint
from trainer.data.tokenizer import load_tokenizer, pad_id
from trainer.data.workers import encode_in_processes, worker_count
from trainer.data.workloads import Workload
from trainer.errors import TrainerError
from trainer.options.settings import Settings
from trainer.tasks.task import Task


class Sft(Task):
    """Supervised fine-tuning on prompt/completion pairs or chats."""

    example = "python -m trainer sft --model MODEL --data chats.jsonl --eval_share 0.05"
    plan_settings = ("packing", "tokens_per_row", "examples_per_batch", "accumulate", "seed", "workload")

    def planned_by(self, settings: Settings) -> tuple[str, ...]:
        """Adapters are part of the plan where there are any."""
        names = ("lora_rank", "lora_alpha", "lora_dropout", "lora_targets")
        adapters = names if settings.lora_rank > 0 else ()
        streamed = ("streaming", "shuffle_buffer") if settings.streaming else ()
        return self.plan_settings + adapters + streamed

    def prepare(self, settings: Settings, workload: Workload | None) -> Prepared:
        """Tokenise (once, cached by content) and plan the steps."""
        files = existing_files(settings.data or ([str(workload.data)] if workload else []))
        tokenizer = load_tokenizer(settings, workload)
        self.check_validation(settings)
        if settings.streaming:
            return self._streamed(files, tokenizer, settings)
        content = _fingerprint(files, tokenizer, settings)
        identity = self.identity(content, settings)
        facts: dict[str, Any] = {"files": [str(path) for path in files], "fingerprint": content}
        facts["formats"] = describe_formats(files, settings)
        if not settings.pretokenize:
            rows = InTheLoop(list(read_rows(files)), partial(_encode, tokenizer, settings))
            return Prepared(_pad(rows, tokenizer, settings), tokenizer, identity, facts)
        parts = (
            [_tokens([path], _fingerprint([path], tokenizer, settings), tokenizer, settings) for path in files]
            if (settings.data_weights)
            else [_tokens(files, content, tokenizer, settings)]
        )
        reused, drawn = all(kept for _, kept in parts), None
        found: Any = parts[0][0] if len(parts) == 1 else ConcatenatedSources([part for part, _ in parts])
        if settings.data_weights:
            drawn = _mixture([len(part) for part, _ in parts], settings)
        facts.update(examples=len(found), tokens=int(found.lengths.sum()), reused_tokens=reused)
        facts["over_long"] = _over_long([part for part, _ in parts], settings)
        held = _of_its_own(facts, tokenizer, settings)
        examples: Examples = found
        if settings.eval_share:
            examples, left = split(found, settings.eval_share, settings.seed)
            held = _held_out(left, tokenizer, settings)
            facts.update(eval_examples=len(left))
        if not settings.packing:
            return Prepared(_pad(examples, tokenizer, settings), tokenizer, identity, facts, held)
        source = PackedSource(examples, settings.tokens_per_row, settings.accumulate, settings.seed, drawn)
        total = int((examples.lengths if drawn is None else examples.lengths[drawn(0)]).sum())
        facts["packing_efficiency"] = round(total / (len(source.rows(0)) * settings.tokens_per_row), 4)
        return Prepared(source, tokenizer, identity, facts, held)

    def _streamed(self, files: list[Path], tokenizer: Tokenizer, settings: Settings) -> Prepared:
        content = fingerprint(files, *_decisive(tokenizer, settings))
        identity = self.identity(content, settings)
        facts: dict[str, Any] = {"files": [str(path) for path in files], "fingerprint": content, "streamed": True}
        source = DialogueStream(files, tokenizer, settings, identity)
        # Of a data set on the Hub one file is looked at: there may be thousands, all alike.
        first = {path.parent if is_remote(path) else path: path for path in reversed(files)}
        facts["formats"] = describe_formats([path for path in files if path in first.values()], settings)
        return Prepared(source, tokenizer, identity, facts, _of_its_own(facts, tokenizer, settings))


def _of_its_own(facts: dict[str, Any], tokenizer: Tokenizer, settings: Settings) -> Validation:
    """The validation data that is given as files, if it is; what is found goes into the facts."""
    if not settings.eval_data:
        return NoValidation()
    files = existing_files(settings.eval_data)
    facts["eval_fingerprint"] = _fingerprint(files, tokenizer, settings)
    found, _ = _tokens(files, facts["eval_fingerprint"], tokenizer, settings)
    facts["eval_examples"] = len(found)
    return _held_out(found, tokenizer, settings)


def _mixture(counts: list[int], settings: Settings) -> Mixture:
    if not settings.packing or settings.eval_share:
        raise TrainerError(
            "bad-setting", "setting data_weights needs packed rows, and held-out data of its own",
            "Leave packing on, and give eval_data instead of eval_share.",
        )  # fmt: skip
    return Mixture(counts, [float(weight) for weight in settings.data_weights], settings.seed)


def _tokens(files: list[Path], content: str, tokenizer: Tokenizer, settings: Settings) -> tuple[tokens.Tokens, bool]:
    """Of all rows of the files, from the cache where they are; whether they were."""
    cache = Path(settings.cache) if settings.cache else tokens.default_cache()
    workers = worker_count(settings.tokenize_workers, files, usable_cores())
    rows = CountedRows(read_rows(files))
    return tokens.cached_tokens(
        cache / content[:32], lambda: encode_in_processes(rows, tokenizer, settings, workers), lambda: rows.count
    )


def _over_long(parts: list[tokens.Tokens], settings: Settings) -> list[str]:
    """What became of examples longer than a row."""
    most, examples = settings.tokens_per_row, sum(map(len, parts))
    read = sum(len(part) if part.rows is None else part.rows for part in parts)
    found = []
    if read > examples:
        what = "longer than" if settings.over_long == "skip" else "with nothing to train in their first"
        found.append(f"{read - examples} of {read} examples are left out: {what} {most} tokens (tokens_per_row)")
    if settings.over_long == "cut" and (full := sum(int((part.lengths == most).sum()) for part in parts)):
        found.append(f"{full} of {read} examples fill {most} tokens (tokens_per_row): cut there, or just as long")
    return found


def _held_out(examples: Examples, tokenizer: Tokenizer, settings: Settings) -> HeldOut:
    size = 0 if settings.packing else settings.examples_per_batch
    return HeldOut(examples, settings.tokens_per_row, size, pad_id(tokenizer))


def _fingerprint(files: list[Path], tokenizer: Tokenizer, settings: Settings) -> str:
    """Names everything that decides the tokens."""
    return tokens.fingerprint(files, *_decisive(tokenizer, settings))


def _decisive(tokenizer: Tokenizer, settings: Settings) -> tuple[str, ...]:
    """What decides the tokens beside the files."""
    fields = [settings.prompt_field, settings.completion_field, settings.messages_field]
    fields += [settings.text_field, settings.data_format]
    lengths = [settings.tokens_per_row, settings.over_long, *(["counted"] if settings.over_long != "error" else [])]
    return (
        tokenizer.backend_tokenizer.to_str(), str(tokenizer.chat_template),
        repr([tokenizer.bos_token, tokenizer.eos_token, *fields]), repr(lengths),
    )  # fmt: skip


def _pad(examples: Any, tokenizer: Tokenizer, settings: Settings) -> Source:
    size, accumulate = settings.examples_per_batch, settings.accumulate
    return PaddedSource(examples, size, accumulate, settings.seed, pad_id(tokenizer))


def _encode(tokenizer: Tokenizer, settings: Settings, rows: list[Row]) -> list[tokens.Encoded]:
    found = list(encode_rows(rows, tokenizer, settings))
    if len(found) < len(rows):  # the plan was made before anybody could know
        raise TrainerError(
            "over-long",
            f"{rows[0][0]}: longer than tokens_per_row={settings.tokens_per_row}, and without pretokenize it cannot be "
            "left out",
            "Set pretokenize=true, or raise tokens_per_row.",
        )
    return found
