"""Several data sets as one, each with its own number of passes in an epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trainer.data.heldout import Examples

DRAW = (1 << 31) + 1  # beside the epochs and the held-out examples


class ConcatenatedSources:
    """Examples of several data sets, one behind the other."""

    def __init__(self, parts: Sequence[Examples]) -> None:
        self._parts = parts
        self.ends = np.cumsum([len(part) for part in parts])
        self._lengths = np.concatenate([part.lengths for part in parts])

    def __len__(self) -> int:
        return int(self.ends[-1])

    @property
    def lengths(self) -> Any:
        """Tokens of each, int64 of shape (examples,)."""
        return self._lengths

    def example(self, index: int) -> tuple[Any, Any]:
        """(ids, trained), integer arrays of one length."""
        part = int(np.searchsorted(self.ends, index, side="right"))
        return self._parts[part].example(index - (int(self.ends[part - 1]) if part else 0))


class Mixture:
    """epoch -> indices of its examples: `weights[i]` passes over the i-th data set, those of `counts[i]` examples.

    Of half a pass, one epoch takes one half and the next the other: every example comes equally often in the end.
    """

    def __init__(self, counts: Sequence[int], weights: Sequence[float], seed: int) -> None:
        self._counts, self._weights, self._seed = counts, weights, seed

    def __call__(self, epoch: int) -> Any:
        """int64 of shape (examples of the epoch,), in no particular order."""
        found, begin = [], 0
        for part, (count, weight) in enumerate(zip(self._counts, self._weights)):
            order = np.random.default_rng([self._seed, DRAW, part]).permutation(count)
            taken = max(1, round(weight * count))
            places = (np.arange(taken) + epoch * taken) % count
            found.append(begin + order[places])
            begin += count
        return np.concatenate(found)
