"""One model that embeds and generates (GritLM, arXiv 2402.09906): InfoNCE over mean-pooled vectors of documents read
both ways, plus the loss of supervised fine-tuning, each with its weight.

The two losses are micro-batches of their own, so that only one graph is alive at a time and their order costs nothing:
on one CPU core the contrastive one first took 1.03 times the CPU time of the generative one first (median of 6
interleaved steps of chat-5m, 0.89 to 1.26), which is noise. With contrastive_weight or
generative_weight 0 that part is not computed at all: a plain embedding trainer, or plain fine-tuning.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, List, Optional, Sequence

import numpy as np
import torch

from trainer import tokens
from trainer.batches import Batch, epoch_rows, groups
from trainer.contrastive import PairBatch, Pooled, embedded, info_nce, joined, joined_targets, mean_pooled, processes
from trainer.dialogue import encode_rows
from trainer.errors import TrainerError
from trainer.examples import existing
from trainer.model import Trainee
from trainer.pairs import Document, PairSource
from trainer.pairtexts import GENERATIVE, Catalogue, Item, catalogue, encode_texts, encoded, items
from trainer.settings import Settings
from trainer.task import Prepared
from trainer.tasks import sft
from trainer.workloads import Workload

# Settings that decide the tokens, and those that decide the plan.
CONTENT = (
    "tokens_per_row over_long query_field positives_field negatives_field instruction_format embed_mark prompt_field "
    "completion_field messages_field"
).split()
PLAN = (
    "pretokenize packing tokens_per_row examples_per_batch accumulate seed model workload pairs_per_batch "
    "negatives_per_query one_file_per_batch generative_first contrastive_weight generative_weight temperature "
    "gradcache_chunk"
).split()


def prepare(settings: Settings, workload: Optional[Workload]) -> Prepared:
    """Tokenise (once, cached by content) and plan the steps."""
    files = existing(settings.data)
    tokenizer = sft.load_tokenizer(settings, workload)
    parts = [tokenizer.backend_tokenizer.to_str(), str(tokenizer.chat_template), tokenizer.bos_token]
    content = [getattr(settings, name) for name in CONTENT]
    identity = tokens.fingerprint(files, "pairs", repr(parts), repr([tokenizer.eos_token, content]))
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id or 0
    documents: Any
    reused = False
    if settings.pretokenize:
        cache = Path(settings.cache) if settings.cache else tokens.default_cache()
        found, reused = tokens.cached(cache / identity[:32], lambda: encoded(files, tokenizer, settings))
        documents = InFolder(found)
    else:
        documents = InTheLoop(files, tokenizer, settings)
    drawn = catalogue(documents.roles())
    _check(drawn, settings, files)
    facts = {
        "files": [str(path) for path in files], "fingerprint": identity, "reused_tokens": reused,
        "pairs": len(drawn.queries), "generative_examples": len(drawn.generative),
    }  # fmt: skip

    def generative(epoch: int) -> List[List[int]]:
        if settings.packing:
            lengths = documents.tokens.lengths[drawn.generative] if drawn.generative else []
            rows = epoch_rows(lengths, settings.tokens_per_row, settings.seed, epoch)
        else:
            order = np.random.default_rng([settings.seed, epoch]).permutation(len(drawn.generative)).tolist()
            rows = [list(group) for group in groups(order, settings.examples_per_batch)]
        return [[drawn.generative[index] for index in row] for row in rows]

    source = PairSource(documents, drawn, generative, settings, None if settings.packing else pad)
    plan = identity + " " + " ".join("%s=%s" % (name, getattr(settings, name)) for name in PLAN)
    return Prepared(source, tokenizer, plan, facts)


def _check(found: Catalogue, settings: Settings, files: Sequence[Path]) -> None:
    if (found.queries and settings.contrastive_weight) or (found.generative and settings.generative_weight):
        return
    raise TrainerError(
        "nothing-to-train",
        "%s: %d pairs and %d generative examples, with contrastive_weight=%g and generative_weight=%g"
        % (
            files[0],
            len(found.queries),
            len(found.generative),
            settings.contrastive_weight,
            settings.generative_weight,
        ),
        "Give rows with %s and %s, or raise a weight." % (settings.query_field, settings.positives_field),
    )


def adapt(trainee: Trainee, settings: Settings) -> None:
    """What supervised fine-tuning does (adapters, when asked for)."""
    sft.adapt(trainee, settings)


def loss(trainee: Trainee, batch: Any, settings: Settings, scale: float) -> torch.Tensor:
    """`scale` x weight x summed token loss of a generative batch, or factor x summed InfoNCE of a contrastive one.

    Both are multiplied by the number of processes (within `scale`), over which the wrapper takes the mean.
    """
    if isinstance(batch, Batch):
        return sft.loss(trainee, batch, settings, scale * settings.generative_weight)
    pairs: PairBatch = batch

    def embed(row: Pooled) -> torch.Tensor:
        with trainee.computing():
            return mean_pooled(trainee.hidden(row.batch, causal=False), row)

    vectors = embedded(pairs.rows, embed, again=pairs.again or (settings.gradcache_chunk > 0 and len(pairs.rows) > 1))
    queries, passages = vectors[: pairs.queries], vectors[len(vectors) if pairs.idle else pairs.queries :]
    targets = joined_targets(pairs.targets, len(passages))
    total = info_nce(queries, joined(passages), targets, settings.temperature)
    return total * (pairs.factor * processes())


class InFolder:
    """Documents of a token folder."""

    def __init__(self, found: tokens.Tokens) -> None:
        self.tokens = found

    def roles(self) -> List[int]:
        found: List[int] = (np.asarray(self.tokens.trained[self.tokens.starts[:-1]]) >> 1).tolist()
        return found

    def examples(self, indices: Sequence[int]) -> List[Document]:
        return [(ids, marks & 1) for ids, marks in map(self.tokens.example, indices)]


class InTheLoop:
    """Documents tokenised each time they are asked for, as a collator does; only for comparison."""

    def __init__(self, files: List[Path], tokenizer: Any, settings: Settings) -> None:
        self.items: List[Item] = [item for row in items(files, settings) for item in row]
        self.tokenizer, self.settings = tokenizer, settings

    def roles(self) -> List[int]:
        return [role for role, _, _ in self.items]

    def examples(self, indices: Sequence[int]) -> List[Document]:
        chosen = [self.items[index] for index in indices]
        if chosen and chosen[0][0] == GENERATIVE:  # a micro-batch is of one kind
            found = encode_rows(((place, row) for _, place, row in chosen), self.tokenizer, self.settings)
        else:
            found = encode_texts([(place, text) for _, place, text in chosen], self.tokenizer)
        return [(np.asarray(ids), np.asarray(marks)) for ids, marks in found]
