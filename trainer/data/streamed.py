"""Data that is read and tokenised while it is trained on: neither its rows nor its tokens are ever all in memory.

Examples are taken in file order, as many at a time as the shuffle buffer holds, shuffled and packed among themselves,
and the files come in another order in each pass. Of n processes each reads every n-th example. What a step holds
follows from the settings and its number alone; OUTPUT/stream keeps where each buffer began in the files, so that a run
goes on without tokenising again what lies before it (without that file it does so, and comes to the same steps).
"""

from __future__ import annotations

import copy
import gzip
import hashlib
import itertools
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trainer.data.batches import Batch, groups, pack, packed_rows, pad_rows
from trainer.data.dialogue import encode_rows
from trainer.data.examples import BY_ROWS, SUFFIXES, Row, is_list, json_row, suffix_of
from trainer.data.source import Share
from trainer.data.tokenizer import pad_id
from trainer.errors import TrainerError
from trainer.settings import Settings

ENDLESS = 1 << 40  # steps of the one epoch that a stream has; max_steps ends the run
EDGE = 1 << 20  # bytes at both ends of a file that stand for all of it
SHUFFLED = 2  # in the seeds of the shuffling: beside those of data that is not streamed
Examples = list[tuple[Any, Any]]  # (ids, trained), integer arrays of one length


@dataclass(frozen=True)
class Start:
    """Where a buffer begins. first: its first row among all that this process makes; number: of the buffer; turn,
    line, offset: the next line of which file of this pass (bytes for JSON lines); example: its number in the pass.
    """

    first: int = 0
    number: int = 0
    passes: int = 0
    turn: int = 0
    line: int = 0
    offset: int = 0
    example: int = 0


def fingerprint(files: Sequence[Path], *parts: str) -> str:
    """sha256 over name, size and both ends of each file, and the texts that decide how they are read."""
    digest = hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass"))
    for path in files:
        size = path.stat().st_size
        digest.update(f"{path.name} {size}\n".encode())
        with path.open("rb") as stream:
            digest.update(stream.read(EDGE))
            stream.seek(max(0, size - EDGE))
            digest.update(stream.read(EDGE))
    return digest.hexdigest()


class StreamSource:
    """Steps of `accumulate` rows without an end; those of one pass and the next are told apart by nothing.

    files: of rows; JSON lists are refused, since they can only be read whole. identity: of data and plan, under which
    OUTPUT/stream is kept. TrainerError names the place of a row that cannot be used, when it is its turn.
    """

    share = Share()
    fill = False
    in_order = True  # what comes next is cheap, anything else is not: one process makes the batches

    def __init__(self, files: Sequence[Path], tokenizer: Any, settings: Settings, identity: str) -> None:
        for path in files:
            if is_list(path):
                raise TrainerError(
                    "not-streamable", f"{path} is one JSON list, which can only be read whole",
                    "Write it as JSON lines (one object a line) or parquet, or leave streaming out.",
                )  # fmt: skip
        self._files, self._settings, self._identity = list(files), settings, identity
        self._tokenizer = copy.deepcopy(tokenizer)  # used in a thread beside the run's own
        self._starts: list[Start] = []
        self._block: tuple[Start, list[Any]] | None = None
        self._reader = ThreadPoolExecutor(1, "stream")
        self._next: tuple[Start, Future[tuple[list[Any], Start]]] | None = None

    def steps_in(self, epoch: int) -> int:
        return ENDLESS

    def step(self, epoch: int, index: int) -> list[Batch]:
        """The rows of one step; going back costs the tokenising of a buffer."""
        first = (epoch * self.steps_in(epoch) + index) * self._settings.accumulate
        rows = (self._row(number) for number in range(first, first + self._settings.accumulate))
        if not self._settings.packing:
            return [pad_rows(row, pad_id(self._tokenizer)) for row in rows]
        return [pack(row, self._settings.tokens_per_row if self.fill else 0) for row in rows]

    def _row(self, number: int) -> Examples:
        if not self._starts:
            self._starts = self._known()
        start, rows = self._block or (None, [])
        if start is None or not start.first <= number < start.first + len(rows):
            begin = [one for one in self._starts if one.first <= number][-1]
            while True:
                start = begin
                rows, begin = self._read(start)
                if number < begin.first:
                    break
            self._block = (start, rows)
            self._next = (begin, self._reader.submit(self._made, begin))  # while this one is trained on
        found: Examples = rows[number - start.first]
        return found

    def _read(self, start: Start) -> tuple[list[Any], Start]:
        ahead, self._next = self._next, None
        found = ahead[1].result() if ahead and ahead[0] == start else self._made(start)
        if found[1].first > self._starts[-1].first:
            self._starts.append(found[1])
            with self._index().open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(asdict(found[1])) + "\n")
        return found

    def _made(self, start: Start) -> tuple[list[Any], Start]:
        """The rows of the buffer that begins there, and where the next one does."""
        reading = _Reading(self._files, start, self._settings, self.share)
        examples = [
            (np.asarray(ids, np.uint32), np.asarray(trained, np.uint8))
            for ids, trained in encode_rows(iter(reading), self._tokenizer, self._settings)
        ]
        if not examples and not start.example and reading.at.passes > start.passes:
            raise TrainerError(
                "empty-data", f"{self._files[0]}: a whole pass over the data has no example for this process",
                "Give data with more examples than processes, or raise tokens_per_row.",
            )  # fmt: skip
        draw = np.random.default_rng([self._settings.seed, SHUFFLED, start.number, self.share.rank])
        if self._settings.packing:
            lengths = np.array([len(ids) for ids, _ in examples], np.int64)
            order: Any = packed_rows(lengths, self._settings.tokens_per_row, draw)
        else:
            order = groups(draw.permutation(len(examples)).tolist(), self._settings.examples_per_batch)
        rows = [[examples[index] for index in row] for row in order]
        return rows, replace(reading.at, first=start.first + len(rows), number=start.number + 1)

    def _index(self) -> Path:
        return Path(self._settings.output) / "stream" / f"{self.share.rank}.jsonl"

    def _known(self) -> list[Start]:
        """Where buffers begin, as far as a run before this one came to; a torn or foreign file is written anew."""
        path, head = self._index(), f"{self._identity} {self.share.rank}/{self.share.world}"
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
            if json.loads(lines[0]) != head:
                raise ValueError(head)
            found = [Start(**json.loads(line)) for line in lines[1:-1]]
        except (OSError, ValueError, TypeError):
            found = []
        starts = [Start(), *found]
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            text = [json.dumps(head), *(json.dumps(asdict(start)) for start in found)]
            path.write_text("".join(line + "\n" for line in text), encoding="utf-8")
        except OSError as error:
            raise TrainerError("output-not-writable", f"{path}: {error.strerror}", "Choose another output.") from None
        return starts


class _Reading:
    """The rows of one buffer, this process's only; `at` is where the next one begins."""

    def __init__(self, files: Sequence[Path], start: Start, settings: Settings, share: Share) -> None:
        order = np.random.default_rng([settings.seed, SHUFFLED, start.passes]).permutation(len(files))
        self._files = [files[index] for index in order]
        self._buffer, self._share, self.at = settings.shuffle_buffer, share, start

    def __iter__(self) -> Iterator[Row]:
        taken = 0
        while self.at.turn < len(self._files):
            for row in self._of(self._files[self.at.turn]):
                if row is not None:
                    taken += 1
                    yield row
                if taken == self._buffer:
                    return
            self.at = replace(self.at, turn=self.at.turn + 1, line=0, offset=0)
        self.at = replace(self.at, passes=self.at.passes + 1, turn=0, line=0, offset=0, example=0)

    def _mine(self) -> bool:
        return self.at.example % self._share.world == self._share.rank

    def _of(self, path: Path) -> Iterator[Row | None]:
        """From the cursor on, None for another process's; the cursor stands behind what was given."""
        if suffix_of(path) in BY_ROWS:
            for row in itertools.islice(SUFFIXES[suffix_of(path)](path), self.at.line, None):
                mine = self._mine()
                self.at = replace(self.at, line=self.at.line + 1, example=self.at.example + 1)
                yield row if mine else None
            return
        try:
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
                stream.seek(self.at.offset)
                for line in stream:
                    mine, blank = self._mine(), not line.strip()
                    at = self.at
                    self.at = replace(
                        at, line=at.line + 1, offset=at.offset + len(line), example=at.example + (not blank)
                    )
                    if not blank:
                        place = f"{path}, line {self.at.line}"
                        yield (place, json_row(place, line)) if mine else None
        except OSError as error:
            raise TrainerError(
                "unreadable-file", f"{path}: {error.strerror or error}", "Check the path and its permissions."
            ) from None
