"""Retrieval accuracy: for how many held-out queries one of their own passages is the nearest of all held-out passages.

The documents are embedded in passes that are always the same, each by one of the processes, and their vectors are
gathered in the order of the passes: the figure is the same for any number of processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from trainer.data.batches import groups
from trainer.data.pairs import Document, Pooled, chunks, pool_documents
from trainer.data.pairtexts import Query
from trainer.data.source import Share
from trainer.model.contrastive import mean_pooled
from trainer.state import Run

NAME = "retrieval_accuracy"
MANY = 1024  # queries compared at a time


@dataclass(frozen=True)
class HeldOutPairs:
    """documents: has `examples(indices)`; queries: the pairs among them that are not trained on. pad: the id that
    fills padded batches of `size` documents; None packs rows of `budget` tokens.
    """

    documents: Any
    queries: Sequence[Query]
    budget: int
    size: int
    pad: int | None

    def __call__(self, run: Run) -> dict[str, float]:
        """The score of the run's model as it is."""
        queries = [one.query for one in self.queries]
        own = [len(one.positives) for one in self.queries]
        passages = [one for each in self.queries for one in (*each.positives, *each.negatives)]
        counts = [len(one.positives) + len(one.negatives) for one in self.queries]
        vectors = embed_rows(run, self._rows([*queries, *passages], run.prepared.source.fill))
        return {NAME: accuracy(vectors[: len(queries)], vectors[len(queries) :], counts, own)}

    def _rows(self, indices: Sequence[int], fill: bool) -> list[Pooled]:
        documents: list[Document] = self.documents.examples(indices)
        if self.pad is not None:
            return [pool_documents(part, self.pad) for part in groups(documents, self.size)]
        return [pool_documents(part, None, self.budget if fill else 0) for part in chunks(documents, self.budget)]


def embed_rows(run: Run, rows: Sequence[Pooled]) -> Any:
    """Unit vectors of all documents of the rows, float64 of shape (documents, width), on every process."""
    numbers, idle = Share(run.group.rank, run.group.world).of(range(len(rows)))
    mine = []
    for place, number in enumerate(numbers):
        found = run.group.compute(_vectors, run.trainee, rows[number].to(run.trainee.device))
        if not (idle and place == len(numbers) - 1):
            mine.append((number, found.cpu().numpy()))
    every = sorted((item for part in run.group.gathered(mine) for item in part), key=lambda item: item[0])
    vectors = np.concatenate([found for _, found in every]).astype(np.float64)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def accuracy(queries: Any, passages: Any, counts: Sequence[int], own: Sequence[int]) -> float:
    """The share of queries to which one of their own passages is as near as any other.

    queries (n, width), passages (m, width), unit vectors; query i has the next counts[i] passages, of which the first
    own[i] answer it (the others are its hard negatives).
    """
    begins = np.cumsum(counts) - counts
    right = 0
    for low in range(0, len(queries), MANY):
        scores = queries[low : low + MANY] @ passages.T
        for row, number in enumerate(range(low, min(low + MANY, len(queries)))):
            mine = scores[row, begins[number] : begins[number] + own[number]]
            right += bool(mine.max() >= scores[row].max())
    return right / len(queries)


def _vectors(trainee: Any, row: Pooled) -> torch.Tensor:
    """(documents, width) in float32."""
    with trainee.computing():
        return mean_pooled(trainee.hidden(row.batch, causal=False), row)
