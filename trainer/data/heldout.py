"""Examples that are not trained on, and the micro-batches in which their loss is taken: always the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from trainer.data.batches import Batch, epoch_rows, groups, pack, pad_rows
from trainer.errors import TrainerError

DRAW = 1 << 31  # beside the epochs, whose numbers are small: the draw of the held-out examples has a stream of its own


class Examples(Protocol):
    """Tokenised examples by index (`trainer.data.tokens.Tokens`)."""

    def __len__(self) -> int:
        """How many there are."""

    @property
    def lengths(self) -> Any:
        """Tokens of each, int64 of shape (examples,)."""

    def example(self, index: int) -> tuple[Any, Any]:
        """(ids, trained), integer arrays of one length."""


class Chosen:
    """Some of the examples, by their indices."""

    def __init__(self, examples: Examples, indices: Any) -> None:
        self._examples, self._indices = examples, np.asarray(indices)

    def __len__(self) -> int:
        return len(self._indices)

    @property
    def lengths(self) -> Any:
        """Tokens of each, int64 of shape (examples,)."""
        return self._examples.lengths[self._indices]

    def example(self, index: int) -> tuple[Any, Any]:
        """(ids, trained), integer arrays of one length."""
        return self._examples.example(int(self._indices[index]))


def split(examples: Examples, share: float, seed: int) -> tuple[Chosen, Chosen]:
    """(to train on, held out): `share` of the examples, at least one, drawn by the seed. TrainerError when nothing is
    left to train on.
    """
    trained, held = split_numbers(len(examples), share, seed)
    return Chosen(examples, trained), Chosen(examples, held)


def split_numbers(total: int, share: float, seed: int, what: str = "examples") -> tuple[Any, Any]:
    """(to train on, held out) of the numbers below `total`, each in order, as `split` does it."""
    count = max(1, round(share * total))
    if count >= total:
        raise TrainerError(
            "nothing-to-train", f"eval_share={share:g} of {total} {what} leaves none to train on",
            "Lower eval_share, or give eval_data.",
        )  # fmt: skip
    order = np.random.default_rng([seed, DRAW]).permutation(total)
    return np.sort(order[count:]), np.sort(order[:count])


class HeldOut:
    """Micro-batches of held-out examples by number: packed rows of `budget` tokens, or padded ones of `size` examples.

    `fill`: packed rows of one width, as compiled code wants.
    """

    fill = False

    def __init__(self, examples: Examples, budget: int, size: int = 0, pad: int = 0) -> None:
        self._examples, self._budget, self._pad, self._padded = examples, budget, pad, size > 0
        if self._padded:
            self._rows: list[Sequence[int]] = list(groups(range(len(examples)), size))
        else:
            self._rows = list(epoch_rows(examples.lengths, budget, 0, 0))

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: int) -> Batch:
        documents = [self._examples.example(index) for index in self._rows[number]]
        if self._padded:
            return pad_rows(documents, self._pad)
        return pack(documents, self._budget if self.fill else 0)


class HeldOutRows:
    """The first micro-batches of a source's first epoch, in its order: for rows of fixed width (pretraining)."""

    fill = False

    def __init__(self, source: Any) -> None:
        self._source = source

    def __len__(self) -> int:
        return int(self._source.steps_in(0))

    def __getitem__(self, number: int) -> Batch:
        if number >= len(self):
            raise IndexError(number)
        (batch,) = self._source.step(0, number)
        found: Batch = batch
        return found
