"""What steps work on, counted on the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Counts:
    """What one or more steps worked on. trained: predicted tokens; real: without padding; slots: with it.

    squares: sum of squared document lengths, which attention's cost follows.
    """

    trained: int = 0
    real: int = 0
    slots: int = 0
    documents: int = 0
    squares: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))

    @staticmethod
    def of(batches: Any) -> Counts:
        """The counts of a step's micro-batches."""
        return sum(
            (Counts(b.trained, b.real, b.slots, len(b.documents), sum(n * n for n in b.documents)) for b in batches),
            Counts(),
        )
