"""One model that embeds and generates (GritLM, arXiv 2402.09906): InfoNCE over mean-pooled vectors of documents read
both ways, plus the loss of supervised fine-tuning, each with its weight.

The two losses are micro-batches of their own, so that only one graph is alive at a time and their order costs nothing:
on one CPU core the contrastive one first took 1.03 times the CPU time of the generative one first (median of 6
interleaved steps of chat-5m, 0.89 to 1.26), which is noise. With contrastive_weight or
generative_weight 0 that part is not computed at all: a plain embedding trainer, or plain fine-tuning.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trainer.data import tokens
from trainer.data.batches import Batch, epoch_rows, groups
from trainer.data.dialogue import encode_rows
from trainer.data.examples import existing_files
from trainer.data.fasttokenizer import Tokenizer
from trainer.data.heldout import HeldOut, split_numbers
from trainer.data.intheloop import InTheLoop
from trainer.data.pairs import Document, PairBatch, PairSource, Pooled
from trainer.data.pairtexts import GENERATIVE, Catalogue, Item, catalogue, encode_pairs, encode_texts, items
from trainer.data.source import NoValidation, Prepared, Validation
from trainer.data.tokenizer import load_tokenizer, pad_id
from trainer.data.workloads import Workload
from trainer.errors import TrainerError
from trainer.model.build import Trainee
from trainer.model.contrastive import embed_rows, gather_rows, info_nce, mean_pooled, processes
from trainer.options.settings import Settings
from trainer.tasks.task import Task
from trainer.validation.retrieval import HeldOutPairs

# Settings that decide the tokens.
CONTENT = (
    "tokens_per_row over_long query_field positives_field negatives_field instruction_format embed_mark prompt_field "
    "completion_field messages_field data_format text_field"
).split()


class Gritlm(Task):
    """One model that embeds and generates: query/passage pairs together with fine-tuning examples."""

    example = "python -m trainer gritlm --model MODEL_FOLDER --data pairs.jsonl chats.jsonl --learning_rate 2e-5"
    plan_settings = (
        "pretokenize", "packing", "tokens_per_row", "examples_per_batch", "accumulate", "seed", "workload",
        "pairs_per_batch", "negatives_per_query", "one_file_per_batch", "generative_first", "contrastive_weight",
        "generative_weight", "temperature", "gradcache_chunk",
    )  # fmt: skip

    def prepare(self, settings: Settings, workload: Workload | None) -> Prepared:
        """Tokenise (once, cached by content) and plan the steps."""
        files = existing_files(settings.data)
        tokenizer = load_tokenizer(settings, workload)
        content = _fingerprint(files, tokenizer, settings)
        documents: InFolder | InTheLoop
        reused = False
        if settings.pretokenize:
            found, reused = _tokens(files, content, tokenizer, settings)
            documents = InFolder(found)
            drawn, lengths = catalogue(documents.roles()), found.lengths
        else:
            rows = [item for row in items(files, settings) for item in row]
            documents = InTheLoop(rows, partial(_encode, tokenizer, settings))
            drawn, lengths = catalogue([role for role, _, _ in rows]), None
        self.check_validation(settings)
        drawn, judged = _shared_out(drawn, settings)
        _check(drawn, settings, files)
        facts = {
            "files": [str(path) for path in files], "fingerprint": content, "reused_tokens": reused,
            "pairs": len(drawn.queries), "generative_examples": len(drawn.generative),
        }  # fmt: skip
        rows_of = partial(_generative_rows, drawn.generative, lengths, settings)
        pad = None if settings.packing else pad_id(tokenizer)
        source = PairSource(documents, drawn, rows_of, settings, pad)
        others: Any = documents
        if settings.eval_data:
            files = existing_files(settings.eval_data)
            facts["eval_fingerprint"] = other = _fingerprint(files, tokenizer, settings)
            others, judged = _folder(files, other, tokenizer, settings)
        held: Validation = NoValidation()
        scores = None
        if judged.generative and settings.generative_weight:
            size = 0 if settings.packing else settings.examples_per_batch
            held = HeldOut(Generative(others, judged.generative), settings.tokens_per_row, size, pad or 0)
        if judged.queries and settings.contrastive_weight:
            scores = HeldOutPairs(others, judged.queries, settings.tokens_per_row, settings.examples_per_batch, pad)
        if settings.eval_data or settings.eval_share:
            facts.update(eval_pairs=len(judged.queries), eval_examples=len(judged.generative))
        return Prepared(source, tokenizer, self.identity(content, settings), facts, held, scores)

    def loss(self, trainee: Trainee, batch: Any, settings: Settings, scale: float) -> torch.Tensor:
        """`scale` x weight x summed token loss of a generative batch, or factor x summed InfoNCE of a contrastive one;
        a float32 scalar.

        Both are multiplied by the number of processes (within `scale`), over which the wrapper takes the mean.
        """
        if isinstance(batch, Batch):
            return self.token_loss(trainee, batch, settings, scale * settings.generative_weight)
        pairs: PairBatch = batch

        def embed(row: Pooled) -> torch.Tensor:
            with trainee.computing():
                return mean_pooled(trainee.hidden(row.batch, causal=False), row)

        vectors = embed_rows(
            pairs.rows, embed, again=pairs.again or (settings.gradcache_chunk > 0 and len(pairs.rows) > 1)
        )
        queries, passages = vectors[: pairs.queries], vectors[len(vectors) if pairs.idle else pairs.queries :]
        total = info_nce(queries, gather_rows(passages, pairs.passages), pairs.targets, settings.temperature)
        return total * (pairs.factor * processes())


def _tokens(files: list[Path], content: str, tokenizer: Tokenizer, settings: Settings) -> tuple[tokens.Tokens, bool]:
    """Of all rows of the files, from the cache where they are; whether they were."""
    cache = Path(settings.cache) if settings.cache else tokens.default_cache()
    return tokens.cached_tokens(cache / content[:32], lambda: encode_pairs(files, tokenizer, settings))


def _folder(files: list[Path], content: str, tokenizer: Tokenizer, settings: Settings) -> tuple[InFolder, Catalogue]:
    documents = InFolder(_tokens(files, content, tokenizer, settings)[0])
    return documents, catalogue(documents.roles())


def _shared_out(found: Catalogue, settings: Settings) -> tuple[Catalogue, Catalogue]:
    """(to train on, held out): a share of the pairs and one of the generative examples, of each kind that there is."""
    held = Catalogue([], [])
    if not settings.eval_share:
        return found, held
    trained = Catalogue([], [])
    for name, what in (("queries", "pairs"), ("generative", "generative examples")):
        items_of = getattr(found, name)
        if items_of:
            for part, numbers in zip(
                (trained, held), split_numbers(len(items_of), settings.eval_share, settings.seed, what)
            ):
                getattr(part, name).extend(items_of[number] for number in numbers)
    return trained, held


def _fingerprint(files: list[Path], tokenizer: Tokenizer, settings: Settings) -> str:
    """Names everything that decides the tokens."""
    parts = [tokenizer.backend_tokenizer.to_str(), str(tokenizer.chat_template), tokenizer.bos_token]
    content = [getattr(settings, name) for name in CONTENT]
    return tokens.fingerprint(files, "pairs", repr(parts), repr([tokenizer.eos_token, content]))


def _generative_rows(generative: Sequence[int], lengths: Any, settings: Settings, epoch: int) -> list[list[int]]:
    """The generative examples of an epoch, row by row, as document indices."""
    if settings.packing:
        sizes = lengths[generative] if generative else []
        rows = epoch_rows(sizes, settings.tokens_per_row, settings.seed, epoch)
    else:
        order = np.random.default_rng([settings.seed, epoch]).permutation(len(generative)).tolist()
        rows = [list(group) for group in groups(order, settings.examples_per_batch)]
    return [[generative[index] for index in row] for row in rows]


def _check(found: Catalogue, settings: Settings, files: Sequence[Path]) -> None:
    if (found.queries and settings.contrastive_weight) or (found.generative and settings.generative_weight):
        return
    raise TrainerError(
        "nothing-to-train",
        f"{files[0]}: {len(found.queries)} pairs and {len(found.generative)} generative examples, with "
        f"contrastive_weight={settings.contrastive_weight:g} and generative_weight={settings.generative_weight:g}",
        f"Give rows with {settings.query_field} and {settings.positives_field}, or raise a weight.",
    )


class InFolder:
    """Documents of a token folder, whose marks hold their role as well (`trainer.data.pairtexts`)."""

    def __init__(self, found: tokens.Tokens) -> None:
        self.tokens = found

    def roles(self) -> list[int]:
        """What each document is."""
        found: list[int] = (np.asarray(self.tokens.trained[self.tokens.starts[:-1]]) >> 1).tolist()
        return found

    def examples(self, indices: Sequence[int]) -> list[Document]:
        """Those at `indices`: ids and marks."""
        return [(ids, marks & 1) for ids, marks in map(self.tokens.example, indices)]


class Generative:
    """Generative examples of a folder of documents, by number (`trainer.data.heldout.Examples`)."""

    def __init__(self, documents: InFolder, indices: Sequence[int]) -> None:
        self._documents, self._indices = documents, indices

    def __len__(self) -> int:
        return len(self._indices)

    @property
    def lengths(self) -> Any:
        """Tokens of each, int64 of shape (examples,)."""
        return self._documents.tokens.lengths[list(self._indices)]

    def example(self, index: int) -> tuple[Any, Any]:
        """(ids, trained), integer arrays of one length."""
        (found,) = self._documents.examples([self._indices[index]])
        return found


def _encode(tokenizer: Tokenizer, settings: Settings, chosen: list[Item]) -> list[tokens.Encoded]:
    if chosen and chosen[0][0] == GENERATIVE:  # a micro-batch is of one kind
        return list(encode_rows(((place, row) for _, place, row in chosen), tokenizer, settings))
    return list(encode_texts([(place, text) for _, place, text in chosen], tokenizer))
