"""Texts of pretraining, streamed: one long line of documents end to end, cut into rows of one width.

A buffer is that line from some place on: as many documents as the shuffle buffer holds, but to the end of a pass at
most, and at least a micro-batch of rows, which are shuffled. What is left behind its last whole micro-batch begins the
next buffer, within a document and across passes alike, so that each pass trains every token once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from trainer.data.batches import Batch, groups
from trainer.data.cursor import EndlessRows, Start
from trainer.data.shardrows import batch_of_rows
from trainer.data.shards import Shard
from trainer.data.streamed import Buffer, StreamSource
from trainer.data.texts import encode_chunk, in_chunks, text_of

TOKENS = 1 << 25  # of a buffer, whatever its documents: 128 MiB
Document = tuple[Start, Any]  # where it stands (at it, or behind the one before it), and its ids


class TextStream(StreamSource):
    """Micro-batches of `examples_per_batch` rows of tokens_per_row tokens."""

    def _make(self, start: Start, reading: EndlessRows, left: Any) -> Buffer:
        settings = self._settings
        width, size = settings.tokens_per_row, settings.tokens_per_row * settings.examples_per_batch
        waiting: deque[Document | None] = left if left is not None else deque()
        found: list[Document] = []
        total = -start.skip
        for document in self._documents(reading, waiting):
            if document is not None:
                found.append(document)
                total += len(document[1])
            # Enough is what is left of a buffer and one token more, so that a pass's end within that changes nothing.
            if total > size and (document is None or len(found) >= settings.shuffle_buffer or total >= TOKENS):
                break
        starts = np.cumsum([0, *(len(ids) for _, ids in found)]) - start.skip
        ids = np.concatenate([ids for _, ids in found])[start.skip :]
        count = (total - 1) // size  # a row has one token more than it trains: the next row's first
        last = int(np.searchsorted(starts, count * size, side="right")) - 1
        waiting.extendleft(reversed(found[last:]))
        rows = Shard(ids, starts[starts >= 0])
        order = self._draw(start).permutation(count * settings.examples_per_batch).tolist()
        batches = [(rows, group, width) for group in groups(order, settings.examples_per_batch)]
        after = replace(
            found[last][0], first=start.first + count, number=start.number + 1, skip=count * size - int(starts[last])
        )
        return Buffer(batches, after, reading, waiting)

    def _documents(self, reading: EndlessRows, waiting: deque[Document | None]) -> Iterator[Document | None]:
        """Those that wait, and then the next ones of the files, which wait until it is their turn; None where a pass
        ends.
        """
        chunks = in_chunks(self._texts(reading), lambda found: len(found[1]) if found else 0)
        while True:
            while waiting:
                yield waiting.popleft()
            chunk = next(chunks)
            made = encode_chunk([found[1] for found in chunk if found], self._tokenizer)
            waiting.extend((found[0], np.asarray(next(made), np.uint32)) if found else None for found in chunk)

    def _texts(self, reading: EndlessRows) -> Iterator[tuple[Start, str] | None]:
        """Each that is not empty, and where it stands; None where a pass ends."""
        before, ends = reading.at, 0
        for row in reading:
            if row is None:
                ends += 1
                if ends == 2:  # nothing since the pass before this one ended
                    raise self._nothing()
                yield None
                continue
            place, columns = row
            whole = place.endswith(".txt")  # a file that is one text: its only row has no line of its own
            text = columns["text"] if whole else text_of(place, columns, self._settings.text_field)
            if text.strip():
                yield before, text
                ends = 0
            before = reading.at

    def _batch(self, content: Any) -> Batch:
        rows, numbers, width = content
        return batch_of_rows([rows.row(number, width) for number in numbers], self._settings)
