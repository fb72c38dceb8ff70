"""Token shards for pretraining: flat files of token ids that training maps into memory.

A shard folder holds shard-00000.bin (uint16 or uint32, little endian: documents end to end, each with its end token),
shard-00000.lengths (int32 per document), and index.json with sizes, sha256 sums and the tokenizer's fingerprint.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trainer.data.fasttokenizer import Tokenizer
from trainer.data.whole import sha256
from trainer.errors import TrainerError

SCHEMA = 1


@dataclass(frozen=True)
class Shard:
    """ids: every token, mapped; starts: where each document begins, and the end."""

    ids: Any
    starts: Any

    def row(self, index: int, width: int) -> tuple[Any, Any]:
        """(width + 1 ids of one row, places of those that begin a document). Rows overlap in one token."""
        low = index * width
        high = low + width + 1
        first, last = np.searchsorted(self.starts, [low, high])
        return np.asarray(self.ids[low:high], dtype=np.int64), self.starts[first:last] - low


@dataclass(frozen=True)
class Shards:
    """One shard folder; `identity` changes with any byte of it."""

    shards: list[Shard]
    identity: str
    tokenizer: str

    @property
    def tokens(self) -> int:
        return sum(len(shard.ids) for shard in self.shards)

    @property
    def documents(self) -> int:
        return sum(len(shard.starts) - 1 for shard in self.shards)


def tokenizer_fingerprint(tokenizer: Tokenizer) -> str:
    """sha256 of what decides the ids of a text: the tokenizer's own file and the tokens around a document."""
    parts = [tokenizer.backend_tokenizer.to_str(), tokenizer.bos_token, tokenizer.eos_token]
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()


def open_shards(folder: Path, verify: bool) -> Shards:
    """The shards of `folder`, mapped. TrainerError names the file that is missing, truncated, or (with `verify`, which
    reads everything once) has another sha256 than recorded.
    """
    index = read_index(folder)
    try:
        shards = [_open(folder, entry, index["dtype"], verify) for entry in index["shards"]]
        return Shards(shards, str(index["identity"]), str(index["tokenizer"]))
    except (KeyError, TypeError, ValueError) as error:
        raise _broken_shard(folder / "index.json", f"{type(error).__name__}: {error}") from None


def read_index(folder: Path) -> dict[str, Any]:
    """index.json of a shard folder; TrainerError when it is none."""
    path = folder / "index.json"
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TrainerError(
            "no-shards",
            f"{folder} is not a folder of token shards ({error.strerror})",
            "Give files of texts, or a folder that `envdoctor train prepare` has written.",
        ) from None
    except (ValueError, RecursionError) as error:
        raise _broken_shard(path, str(error)) from None
    if not isinstance(index, dict) or index.get("schema") != SCHEMA:
        raise _broken_shard(path, f"its schema is not {SCHEMA}")
    return index


def _open(folder: Path, entry: dict[str, Any], dtype: str, verify: bool) -> Shard:
    kinds = {"uint16": 2, "uint32": 4}
    if dtype not in kinds:
        raise ValueError(f"dtype {dtype!r}")
    files = ((entry["name"], entry["tokens"] * kinds[dtype], entry["sha256"]),
             (entry["lengths"], entry["documents"] * 4, entry["lengths_sha256"]))  # fmt: skip
    for name, size, digest in files:
        path = folder / name
        try:
            found = path.stat().st_size
            if found != size:
                raise _broken_shard(path, f"{found} bytes instead of {size}")
            if verify and sha256(path) != digest:
                raise _broken_shard(path, "another sha256 than recorded")
        except OSError as error:
            raise _broken_shard(path, error.strerror or str(error)) from None
    ids = np.memmap(folder / entry["name"], dtype="<" + np.dtype(dtype).str[1:], mode="r")
    lengths = np.fromfile(folder / entry["lengths"], dtype="<i4")
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    if starts[-1] != len(ids):
        raise _broken_shard(folder / entry["lengths"], f"the lengths add up to {starts[-1]} tokens, not {len(ids)}")
    return Shard(ids, starts)


def _broken_shard(path: Path, what: str) -> TrainerError:
    return TrainerError("broken-shards", f"{path}: {what}", "Copy the shards again, or run prepare anew.")
