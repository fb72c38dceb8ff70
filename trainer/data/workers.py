"""Tokenising a large data set in several processes, in order.

The tokenizer's own threads already spread a batch over the cores, but rendering chat templates is Python and runs
on one.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

from trainer.data.dialogue import encode_rows
from trainer.data.examples import Row
from trainer.data.fasttokenizer import Tokenizer
from trainer.data.parent import end_with
from trainer.data.tokens import Encoded
from trainer.options.settings import Settings

CHUNK = 2048  # rows per task: large against the cost of handing them over
WORTH = 64 << 20  # bytes of data from which the few seconds that workers take to start are repaid

_state: list[Any] = []  # the worker process's own tokenizer and settings


def worker_count(wanted: int, files: Sequence[Path], cores: int) -> int:
    """The setting, or all cores (at most 8) for large data and none for small."""
    if wanted:
        return wanted
    return min(cores, 8) if sum(path.stat().st_size for path in files) >= WORTH else 1


def encode_in_processes(
    rows: Iterable[Row], tokenizer: Tokenizer, settings: Settings, workers: int
) -> Iterator[Encoded]:
    """The same as `encode_rows`, in `workers` processes; errors are raised here as there."""
    if workers == 1:
        yield from encode_rows(rows, tokenizer, settings)
        return
    remaining = iter(rows)
    chunks = iter(lambda: list(itertools.islice(remaining, CHUNK)), [])
    context = multiprocessing.get_context("spawn")  # a fork would copy torch's threads in an unknown state
    running: deque[Future[list[Encoded]]] = deque()
    with ProcessPoolExecutor(workers, context, _start, (os.getpid(), tokenizer, settings)) as pool:
        try:
            for chunk in chunks:
                running.append(pool.submit(_work, chunk))
                if len(running) > 2 * workers:
                    yield from running.popleft().result()
            while running:
                yield from running.popleft().result()
        finally:
            for future in running:
                future.cancel()


def _start(parent: int, tokenizer: Tokenizer, settings: Settings) -> None:
    end_with(parent)
    _state[:] = [tokenizer, settings]


def _work(rows: list[Row]) -> list[Encoded]:
    return list(encode_rows(rows, *_state))
