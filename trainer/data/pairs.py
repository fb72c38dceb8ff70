"""Which query meets which passages in which step, from the seed alone.

What is drawn (a positive, hard negatives, who shares a batch) follows from (seed, epoch): no data set keeps counters,
so neither workers nor resuming can change the sampling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Callable

import numpy as np
import torch

from trainer.data.batches import Batch, groups, idling_last, pack, pad_rows
from trainer.data.pairtexts import Catalogue
from trainer.data.source import Share
from trainer.options.settings import Settings

Document = tuple[Any, Any]  # ids, marks: 1 where a token counts
Drawn = tuple[int, tuple[int, ...]]  # indices of a query, and of its passages, the positive first


@dataclass(frozen=True)
class Pooled:
    """Documents to embed in one forward pass. `places` index the flattened tokens that count in the means, document
    by document; `counts` says how many each document has.
    """

    batch: Batch
    places: torch.Tensor
    counts: torch.Tensor

    def to(self, device: torch.device) -> Pooled:
        """The same on `device`."""
        if device.type == "cpu":
            return self
        places, counts = (tensor.to(device, non_blocking=True) for tensor in (self.places, self.counts))
        return Pooled(self.batch.to(device), places, counts)

    def pinned(self) -> Pooled:
        """The same in page-locked memory."""
        return Pooled(self.batch.pinned(), self.places.pin_memory(), self.counts.pin_memory())


@dataclass(frozen=True)
class PairBatch:
    """One contrastive micro-batch: the documents of `rows`, embedded in order, give `queries` query vectors and then
    those of the passages; `targets` is the passage of each query, among those of all processes. `passages`: how many
    each process has, in order of rank; () for one alone. `factor` is its part of the step's loss per query.

    What the loop counts: no trained tokens, because no token is predicted.
    """

    rows: tuple[Pooled, ...]
    queries: int
    targets: torch.Tensor
    factor: float
    passages: tuple[int, ...] = ()
    weight: float = 0.0
    trained: int = 0
    again: bool = False  # embed row by row and compute each again for its gradient (GradCache)
    idle: bool = False  # no query of it counts: it takes part because the other processes compute theirs

    @property
    def documents(self) -> tuple[int, ...]:
        if self.idle:
            return ()
        return tuple(length for row in self.rows for length in row.batch.documents)

    @property
    def real(self) -> int:
        return 0 if self.idle else sum(row.batch.real for row in self.rows)

    @property
    def slots(self) -> int:
        return sum(row.batch.slots for row in self.rows)

    def to(self, device: torch.device) -> PairBatch:
        targets = self.targets.to(device, non_blocking=True)
        return replace(self, rows=tuple(row.to(device) for row in self.rows), targets=targets)

    def pinned(self) -> PairBatch:
        return replace(self, rows=tuple(row.pinned() for row in self.rows), targets=self.targets.pin_memory())


def draw(found: Catalogue, settings: Settings, epoch: int, world: int = 1) -> list[Sequence[Drawn]]:
    """The contrastive batches of one epoch: every query once, with one positive and some of its negatives.

    The batch of `world` processes is that many times as large: their passages are each other's negatives.
    """
    random = np.random.default_rng([settings.seed, epoch, 1])
    order = random.permutation(len(found.queries)).tolist()
    dice = random.random((len(order), 1 + settings.negatives_per_query))
    by_file: dict[int, list[Drawn]] = {}
    for index in order:
        query = found.queries[index]
        rest = list(query.negatives)
        chosen = [query.positives[int(dice[index, 0] * len(query.positives))]]
        chosen += [rest.pop(int(throw * len(rest))) for throw in dice[index, 1:] if rest]
        by_file.setdefault(query.file if settings.one_file_per_batch else 0, []).append((query.query, tuple(chosen)))
    batches = [batch for drawn in by_file.values() for batch in groups(drawn, settings.pairs_per_batch * world)]
    return [batches[index] for index in random.permutation(len(batches))]


class PairSource:
    """Steps of contrastive and generative micro-batches, both spread evenly over the epoch, every example once.

    documents: has `examples(indices)`. generative: the rows of an epoch as lists of document indices. pad: the id that
    fills padded batches; None packs. Of a contrastive batch each process has some queries with their passages; of the
    generative rows, some rows.
    """

    share = Share()
    fill = False
    in_order = False

    def __init__(
        self,
        documents: Any,
        found: Catalogue,
        generative: Callable[[int], list[list[int]]],
        settings: Settings,
        pad: int | None,
    ) -> None:
        self.documents, self.found, self.settings, self.pad = documents, found, settings, pad
        self._generative = generative
        self._planned: tuple[int, list[Sequence[Drawn]], list[list[int]]] = (-1, [], [])

    def plan(self, epoch: int) -> tuple[list[Sequence[Drawn]], list[list[int]]]:
        """Contrastive batches and generative rows of the epoch; a part with weight 0 has none."""
        if self._planned[0] != epoch:
            wanted = self.settings.contrastive_weight
            pairs = draw(self.found, self.settings, epoch, self.share.world) if wanted else []
            self._planned = (epoch, pairs, self._generative(epoch) if self.settings.generative_weight else [])
        return self._planned[1], self._planned[2]

    def steps_in(self, epoch: int) -> int:
        pairs, rows = self.plan(epoch)
        return -(-max(len(pairs), -(-len(rows) // self.share.world)) // self.settings.accumulate)

    def step(self, epoch: int, index: int) -> list[Any]:
        steps = self.steps_in(epoch)
        pairs, rows = self.plan(epoch)
        pairs = pairs[index * len(pairs) // steps : (index + 1) * len(pairs) // steps]
        rows = rows[index * len(rows) // steps : (index + 1) * len(rows) // steps]
        mine, idle = self.share.of(rows) if rows else ([], False)
        generative = idling_last([self._row(row) for row in mine], idle)
        # The loop divides by the step's trained tokens; where there are none it needs something else to divide by.
        factor = self.settings.contrastive_weight / max(1, sum(map(len, pairs)))
        contrastive = [replace(self._mine(batch), factor=factor, weight=float(not rows)) for batch in pairs]
        return [*generative, *contrastive] if self.settings.generative_first else [*contrastive, *generative]

    def _row(self, row: Sequence[int]) -> Any:
        documents = self.documents.examples(row)
        if self.pad is not None:
            return pad_rows(documents, self.pad)
        return pack(documents, self.settings.tokens_per_row if self.fill else 0)

    def _mine(self, batch: Sequence[Drawn]) -> PairBatch:
        """This process's queries of a batch; without any, one is computed that counts nowhere."""
        world = self.share.world
        cuts = [len(batch) * rank // world for rank in range(world + 1)]
        parts = [batch[low:high] for low, high in zip(cuts, cuts[1:])]
        counts = tuple(sum(len(passages) for _, passages in part) for part in parts) if world > 1 else ()
        if part := parts[self.share.rank]:
            found = self._pairs(part)
            return replace(found, targets=found.targets + sum(counts[: self.share.rank]), passages=counts)
        none = torch.zeros(0, dtype=torch.int64)
        return replace(self._pairs(batch[:1]), queries=0, targets=none, passages=counts, idle=True)

    def _pairs(self, batch: Sequence[Drawn]) -> PairBatch:
        order = [query for query, _ in batch] + [one for _, passages in batch for one in passages]
        documents = self.documents.examples(order)
        if self.pad is not None:
            parts = [documents[: len(batch)], documents[len(batch) :]]
            rows = [pool_documents(part, self.pad) for part in parts]
        else:
            budget = self.settings.gradcache_chunk
            size = budget if self.fill else 0
            rows = [pool_documents(part, None, size) for part in chunks(documents, budget)]
        sizes = np.array([len(passages) for _, passages in batch])
        return PairBatch(tuple(rows), len(batch), torch.from_numpy(np.cumsum(sizes) - sizes), 0.0)


def chunks(documents: Sequence[Document], budget: int) -> list[Sequence[Document]]:
    """`documents` in order, cut into runs of at most `budget` tokens (a longer document is alone); 0: one run."""
    if not budget:
        return [documents]
    cuts, size = [0], 0
    for index, (ids, _) in enumerate(documents):
        size += len(ids)
        if size > budget and index > cuts[-1]:
            cuts.append(index)
            size = len(ids)
    return [documents[low:high] for low, high in zip(cuts, [*cuts[1:], len(documents)])]


def pool_documents(documents: Sequence[Document], pad: int | None, size: int = 0) -> Pooled:
    """Documents as one forward pass without targets. Padded ones get the dense mask that lets tokens see both ways."""
    marks = [np.flatnonzero(mark) for _, mark in documents]
    plain = [(ids, np.zeros(len(ids), bool)) for ids, _ in documents]
    if pad is None:
        batch = pack(plain, size)
        starts = batch.borders.numpy()
    else:
        batch = pad_rows(plain, pad)
        rows, width = batch.inputs["input_ids"].shape
        starts = np.arange(rows) * width
        real = batch.inputs["attention_mask"].bool()
        mask = real[:, None, None, :].expand(rows, 1, width, width)
        batch = replace(batch, inputs={**batch.inputs, "attention_mask": mask})
    places = np.concatenate([start + mark for start, mark in zip(starts, marks)])
    return Pooled(batch, torch.from_numpy(places), torch.tensor([len(mark) for mark in marks]))
