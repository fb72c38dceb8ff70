"""Plain texts of data files, and their token ids as documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Callable, cast

from trainer.data.examples import read_rows
from trainer.data.fasttokenizer import Tokenizer
from trainer.errors import TrainerError

MANY = 512  # texts per call of the tokenizer, which spreads them over the cores
CHARACTERS = 1 << 22  # of them together, or one longer text: the tokenizer notes some 100 bytes about each token


def encode_texts(files: list[Path], tokenizer: Tokenizer, field: str) -> Iterator[list[int]]:
    """Ids of each document that is not empty, as `encode_chunk` has them."""
    found = (text for _, text in texts(files, field) if text.strip())
    for chunk in in_chunks(found, len):
        yield from encode_chunk(chunk, tokenizer)


def encode_chunk(chunk: Sequence[str], tokenizer: Tokenizer) -> Iterator[list[int]]:
    """Ids of each document: the beginning token where there is one of its own, text, end token."""
    begin, end = tokenizer.bos_token_id, cast(int, tokenizer.eos_token_id)  # `check_end_token` has been asked
    before = [] if begin is None or begin == end else [begin]
    for ids in tokenizer(list(chunk), add_special_tokens=False)["input_ids"] if chunk else ():
        yield [*before, *ids, end]


def in_chunks(items: Iterable[Any], size: Callable[[Any], int]) -> Iterator[list[Any]]:
    """`items` in runs for one call of the tokenizer; size: characters of one."""
    chunk, total = [], 0
    for item in items:
        chunk.append(item)
        total += size(item)
        if len(chunk) == MANY or total >= CHARACTERS:
            yield chunk
            chunk, total = [], 0
    if chunk:
        yield chunk


def check_end_token(tokenizer: Tokenizer) -> None:
    """TrainerError where nothing could part documents."""
    if tokenizer.eos_token_id is None:
        raise TrainerError("no-end-token", "the tokenizer has no end token", "Set eos_token in its configuration.")


def texts(files: list[Path], field: str) -> Iterator[tuple[str, str]]:
    """(place, text) of every document: each row of JSON lines or parquet, each .txt file as a whole.

    TrainerError names the file and line of one that cannot be read.
    """
    for path in files:
        if path.suffix == ".txt":
            yield str(path), _whole(path)
            continue
        for place, row in read_rows([path]):
            yield place, text_of(place, row, field)


def text_of(place: str, row: dict[str, Any], field: str) -> str:
    """The text of a row. TrainerError names the place of one that has none."""
    if field not in row:
        found = ", ".join(map(repr, row)) or "none"
        raise TrainerError(
            "missing-column", f"{place}: no column {field!r}; it has {found}", "Name it with text_field."
        )
    text = row[field]
    if not isinstance(text, str):
        raise TrainerError("bad-column", f"{place}: {field} must be a text", "Correct that row.")
    return text


def _whole(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TrainerError(
            "unreadable-file", f"{path}: not UTF-8 at byte {error.start}", "Convert it to UTF-8."
        ) from None
    except OSError as error:
        raise TrainerError(
            "unreadable-file", f"{path}: {error.strerror}", "Check the path and its permissions."
        ) from None
    if not text.strip():
        raise TrainerError("empty-data", f"{path}: no text", "Give a file with text.")
    return text
