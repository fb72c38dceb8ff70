"""Where a stream of examples stands in its files, and one process's rows from there on, pass after pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trainer.data.examples import BY_ROWS, Row, json_row, raw_lines, rows_from, suffix_of
from trainer.data.source import Share

SHUFFLED = 2  # in the seeds of the shuffling: beside those of data that is not streamed


@dataclass(frozen=True)
class Start:
    """Where a buffer begins. first: its first micro-batch among all that this process makes; number: of the buffer;
    turn, line, offset: the next line of which file of this pass (bytes for JSON lines); example: its number in the
    pass; skip: tokens of that example that the buffer before has used.
    """

    first: int = 0
    number: int = 0
    passes: int = 0
    turn: int = 0
    line: int = 0
    offset: int = 0
    example: int = 0
    skip: int = 0


class EndlessRows:
    """This process's rows from a place on without an end, None after each pass. Each iteration goes on where the one
    before it was left; `at` is where the next row stands. The files come in another order in each pass.
    """

    def __init__(self, files: Sequence[Path], at: Start, seed: int, share: Share) -> None:
        self._files, self._seed, self._share, self.at = files, seed, share, at
        self._rows = self._all()

    def __iter__(self) -> Iterator[Row | None]:
        return self._rows

    def _all(self) -> Iterator[Row | None]:
        while True:
            order = np.random.default_rng([self._seed, SHUFFLED, self.at.passes]).permutation(len(self._files))
            while self.at.turn < len(order):
                yield from self._of(self._files[order[self.at.turn]])
                self.at = replace(self.at, turn=self.at.turn + 1, line=0, offset=0)
            self.at = replace(self.at, passes=self.at.passes + 1, turn=0, line=0, offset=0, example=0)
            yield None

    def _of(self, path: Path) -> Iterator[Row]:
        """From the cursor on; the cursor stands behind what was given."""
        share, at = self._share, self.at
        if suffix_of(path) in BY_ROWS:
            for number, row in enumerate(rows_from(path, at.line), at.line + 1):
                mine = self.at.example % share.world == share.rank
                self.at = replace(self.at, line=number, example=self.at.example + 1)
                if mine:
                    yield row
            return
        for number, offset, line in raw_lines(path, at.line, at.offset):
            blank = not line.strip()
            mine = not blank and self.at.example % share.world == share.rank
            self.at = replace(self.at, line=number, offset=offset, example=self.at.example + (not blank))
            if mine:
                place = f"{path}, line {number}"
                yield place, json_row(place, line)
