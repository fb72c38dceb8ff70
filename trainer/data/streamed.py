"""Data that is read and tokenised while it is trained on: neither its rows nor its tokens are ever all in memory.

Examples are taken in file order, as many at a time as the shuffle buffer holds, and shuffled among themselves, and the
files come in another order in each pass. Of n processes each reads every n-th example. What a step holds follows from
the settings and its number alone; OUTPUT/stream keeps where each buffer began in the files, so that a run goes on
without tokenising again what lies before it (without that file it does so, and comes to the same steps).
"""

from __future__ import annotations

import copy
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
from trainer.data.cursor import SHUFFLED, EndlessRows, Start
from trainer.data.dialogue import encode_rows
from trainer.data.examples import Row, is_list
from trainer.data.fasttokenizer import Tokenizer
from trainer.data.source import Share
from trainer.data.tokenizer import pad_id
from trainer.errors import TrainerError
from trainer.options.settings import Settings

ENDLESS = 1 << 40  # steps of the one epoch that a stream has; max_steps ends the run
EDGE = 1 << 20  # bytes at both ends of a file that stand for all of it


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


@dataclass(frozen=True)
class Buffer:
    """What was made of the examples from a place on. batches: what each micro-batch holds, as `_batch` takes it; next:
    where the buffer after it begins. reading, left: how that one goes on without opening the files again.
    """

    batches: Sequence[Any]
    next: Start
    reading: EndlessRows
    left: Any = None


class StreamSource:
    """Steps of `accumulate` micro-batches without an end; those of one pass and the next are told apart by nothing.

    files: of rows; JSON lists are refused, since they can only be read whole. identity: of data and plan, under which
    OUTPUT/stream is kept. TrainerError names the place of a row that cannot be used, when it is its turn.
    """

    share = Share()
    fill = False
    in_order = True  # what comes next is cheap, anything else is not: one process makes the batches

    def __init__(self, files: Sequence[Path], tokenizer: Tokenizer, settings: Settings, identity: str) -> None:
        if settings.epochs:
            raise TrainerError(
                "bad-setting", "setting streaming knows no epochs: the data has no known end",
                "Leave epochs out: max_steps ends the run, and the data begins anew where it is shorter.",
            )  # fmt: skip
        for path in files:
            if is_list(path):
                raise TrainerError(
                    "not-streamable", f"{path} is one JSON list, which can only be read whole",
                    "Write it as JSON lines (one object a line) or parquet, or leave streaming out.",
                )  # fmt: skip
        self._files, self._settings, self._identity = list(files), settings, identity
        self._tokenizer = copy.deepcopy(tokenizer)  # used in a thread beside the run's own
        self._starts: list[Start] = []
        self._block: tuple[Start, Sequence[Any]] | None = None
        self._last: Buffer | None = None
        self._reader = ThreadPoolExecutor(1, "stream")
        self._next: tuple[Start, Future[Buffer]] | None = None

    def steps_in(self, epoch: int) -> int:
        return ENDLESS

    def step(self, epoch: int, index: int) -> list[Batch]:
        """The micro-batches of one step; going back costs the tokenising of a buffer."""
        first = (epoch * self.steps_in(epoch) + index) * self._settings.accumulate
        return [self._batch(self._content(number)) for number in range(first, first + self._settings.accumulate)]

    def _make(self, start: Start, reading: EndlessRows, left: Any) -> Buffer:
        """The buffer that begins there. left: what the buffer before it has left of what was read."""
        raise NotImplementedError

    def _batch(self, content: Any) -> Batch:
        raise NotImplementedError

    def _content(self, number: int) -> Any:
        if not self._starts:
            self._starts = self._known()
        start, batches = self._block or (None, [])
        if start is None or not start.first <= number < start.first + len(batches):
            begin = [one for one in self._starts if one.first <= number][-1]
            while True:
                start = begin
                batches, begin = self._read(start)
                if number < begin.first:
                    break
            self._block = (start, batches)
            self._next = (begin, self._reader.submit(self._made, begin))  # while this one is trained on
        return batches[number - start.first]

    def _read(self, start: Start) -> tuple[Sequence[Any], Start]:
        ahead, self._next = self._next, None
        found = ahead[1].result() if ahead and ahead[0] == start else self._made(start)
        if found.next.first > self._starts[-1].first:
            self._starts.append(found.next)
            with self._index().open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(asdict(found.next)) + "\n")
        return found.batches, found.next

    def _made(self, start: Start) -> Buffer:
        last, self._last = self._last, None  # taken: a thread may be at work on another one
        if last is not None and last.next == start:
            found = self._make(start, last.reading, last.left)
        else:
            found = self._make(start, EndlessRows(self._files, start, self._settings.seed, self.share), None)
        self._last = found
        return found

    def _draw(self, start: Start) -> np.random.Generator:
        """Of the order within the buffer that begins there."""
        return np.random.default_rng([self._settings.seed, SHUFFLED, start.number, self.share.rank])

    def _nothing(self) -> TrainerError:
        return TrainerError(
            "empty-data", f"{self._files[0]}: a whole pass over the data has no example for this process",
            "Give data with more examples than processes, or raise tokens_per_row.",
        )  # fmt: skip

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


class DialogueStream(StreamSource):
    """Examples of supervised fine-tuning, packed among those of a buffer. A buffer ends where a pass does."""

    def _make(self, start: Start, reading: EndlessRows, left: Any) -> Buffer:
        examples = [
            (np.asarray(ids, np.uint32), np.asarray(trained, np.uint8))
            for ids, trained in encode_rows(self._rows(reading), self._tokenizer, self._settings)
        ]
        if not examples and not start.example and reading.at.passes > start.passes:
            raise self._nothing()
        draw = self._draw(start)
        if self._settings.packing:
            lengths = np.array([len(ids) for ids, _ in examples], np.int64)
            order: Any = packed_rows(lengths, self._settings.tokens_per_row, draw)
        else:
            order = groups(draw.permutation(len(examples)).tolist(), self._settings.examples_per_batch)
        rows = [[examples[index] for index in row] for row in order]
        return Buffer(rows, replace(reading.at, first=start.first + len(rows), number=start.number + 1), reading)

    def _rows(self, reading: EndlessRows) -> Iterator[Row]:
        for row in itertools.islice(reading, self._settings.shuffle_buffer):
            if row is None:
                return
            yield row

    def _batch(self, content: Any) -> Batch:
        if not self._settings.packing:
            return pad_rows(content, pad_id(self._tokenizer))
        return pack(content, self._settings.tokens_per_row if self.fill else 0)
