"""Examples tokenised each time they are asked for, as plain collators do; only for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

import numpy as np

from trainer.data.tokens import Encoded

Example = tuple[Any, Any]  # ids and marks (1: trained), int64 arrays of one length


class InTheLoop:
    """`rows`, and how some of them become (ids, marks)."""

    def __init__(self, rows: Sequence[Any], encode: Callable[[list[Any]], list[Encoded]]) -> None:
        self.rows, self._encode = rows, encode

    def __len__(self) -> int:
        return len(self.rows)

    def examples(self, indices: Sequence[int]) -> list[Example]:
        """Those at `indices`."""
        found = self._encode([self.rows[index] for index in indices])
        return [(np.asarray(ids), np.asarray(marks)) for ids, marks in found]

    def example(self, index: int) -> Example:
        """The one at `index`."""
        return self.examples([index])[0]
