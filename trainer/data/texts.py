"""Plain texts of data files, and their token ids as documents."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trainer.data.examples import read_rows
from trainer.errors import TrainerError

MANY = 512  # texts per call of the tokenizer, which spreads them over the cores


def encode_texts(files: list[Path], tokenizer: Any, field: str) -> Iterator[list[int]]:
    """Ids of each document that is not empty: the beginning token where there is one of its own, text, end token."""
    begin, end = tokenizer.bos_token_id, tokenizer.eos_token_id
    before = [] if begin is None or begin == end else [begin]
    found = (text for _, text in texts(files, field) if text.strip())
    for chunk in iter(lambda: list(itertools.islice(found, MANY)), []):
        for ids in tokenizer(chunk, add_special_tokens=False)["input_ids"]:
            yield [*before, *ids, end]


def texts(files: list[Path], field: str) -> Iterator[tuple[str, str]]:
    """(place, text) of every document: each row of JSON lines or parquet, each .txt file as a whole.

    TrainerError names the file and line of one that cannot be read.
    """
    for path in files:
        if path.suffix == ".txt":
            yield str(path), _whole(path)
            continue
        for place, row in read_rows([path]):
            if field not in row:
                found = ", ".join(map(repr, row)) or "none"
                raise TrainerError(
                    "missing-column", f"{place}: no column {field!r}; it has {found}", "Name it with text_field."
                )
            if not isinstance(row[field], str):
                raise TrainerError("bad-column", f"{place}: {field} must be a text", "Correct that row.")
            yield place, row[field]


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
