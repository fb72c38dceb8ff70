"""Rows of fixed width cut from token shards, and which of them make up which step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from trainer.data.batches import Batch, groups, idling_last
from trainer.data.heldout import DRAW
from trainer.data.shards import Shard
from trainer.data.source import Share
from trainer.errors import TrainerError
from trainer.options.settings import Settings


class ShardSource:
    """Steps of `accumulate` micro-batches of `examples_per_batch` rows, in an order shuffled over all shards.

    The tokens behind the last whole row of each shard are left out; the last step may be smaller.
    """

    share = Share()
    fill = False  # every row has the same width anyway
    in_order = False

    def __init__(self, shards: Sequence[Shard], settings: Settings) -> None:
        self.shards, self.settings = shards, settings
        counts = [max(0, len(shard.ids) - 1) // settings.tokens_per_row for shard in shards]
        self._ends = np.cumsum(counts)
        self.rows = int(self._ends[-1]) if counts else 0
        self._order: tuple[int, Any] = (-1, None)
        self._chosen: Any = None  # numbers of the rows that are this source's; None: all

    def hold_out(self, share: float) -> ShardSource:
        """Give up `share` of the rows, at least one, drawn by the seed: they are the source that is returned."""
        count = max(1, round(share * self.rows))
        if count >= self.rows:
            raise TrainerError(
                "nothing-to-train", f"eval_share={share:g} of {self.rows} rows leaves none to train on",
                "Lower eval_share, or give eval_data.",
            )  # fmt: skip
        order = np.random.default_rng([self.settings.seed, DRAW]).permutation(self.rows)
        other = ShardSource(self.shards, replace(self.settings, accumulate=1, seed=0))
        for source, chosen in ((other, order[:count]), (self, order[count:])):
            source._chosen, source.rows = np.sort(chosen), len(chosen)
        return other

    def steps_in(self, epoch: int) -> int:
        return -(-self.rows // (self.settings.examples_per_batch * self.settings.accumulate * self.share.world))

    def step(self, epoch: int, index: int) -> list[Batch]:
        if self._order[0] != epoch:
            self._order = (epoch, np.random.default_rng([self.settings.seed, epoch]).permutation(self.rows))
        per_step = self.settings.examples_per_batch * self.settings.accumulate * self.share.world
        chosen = self._order[1][index * per_step : (index + 1) * per_step]
        chosen = (chosen if self._chosen is None else self._chosen[chosen]).tolist()
        mine, idle = self.share.of(list(groups(chosen, self.settings.examples_per_batch)))
        return idling_last([batch_of_rows([self._row(row) for row in group], self.settings) for group in mine], idle)

    def _row(self, number: int) -> tuple[Any, Any]:
        shard = int(np.searchsorted(self._ends, number, side="right"))
        before = int(self._ends[shard - 1]) if shard else 0
        return self.shards[shard].row(number - before, self.settings.tokens_per_row)


def batch_of_rows(rows: Sequence[tuple[Any, Any]], settings: Settings) -> Batch:
    """One micro-batch of them, in one packed row or as plain ones."""
    if settings.packing:
        return rows_of_documents(rows, settings.separate_documents)
    batch = rows_of_documents(rows, False)
    plain = batch.inputs["input_ids"].reshape(len(rows), settings.tokens_per_row)
    return replace(batch, inputs={"input_ids": plain})


def rows_of_documents(rows: Sequence[tuple[Any, Any]], separate: bool) -> Batch:
    """(width + 1 ids, places that begin a document) of each row as one packed row.

    `separate`: position ids restart at each document, and its first token is no target: nothing before it tells it.
    """
    ids = np.stack([row for row, _ in rows])
    count, width = ids.shape[0], ids.shape[1] - 1
    begins = np.zeros(ids.shape, bool)
    if separate:
        for row, (_, places) in enumerate(rows):
            begins[row, places] = True
    targets = np.flatnonzero(~begins[:, 1:])
    begins[:, 0] = True
    starts = np.flatnonzero(begins[:, :-1])
    borders = np.append(starts, count * width)
    lengths = np.diff(borders)
    positions = np.arange(count * width) - np.repeat(starts, lengths)
    return Batch(
        inputs={
            "input_ids": torch.from_numpy(ids[:, :-1].reshape(1, -1)), "position_ids": torch.from_numpy(positions)[None]
        },
        positions=torch.from_numpy(targets),
        targets=torch.from_numpy(ids[:, 1:].reshape(-1)[targets]),
        lengths=tuple(lengths.tolist()),
        weight=float(len(targets)),
        slots=count * width,
        borders=torch.from_numpy(borders.astype(np.int32)),
    )  # fmt: skip
