"""Tokenised examples on disk: written once, memory-mapped by every later run.

A token folder holds tokens.bin (uint16 or uint32), trained.bin (one byte per token: 1 where the loss asks for that
token), lengths.bin (int32 per example) and meta.json. Its name is a hash of everything that decides its content.
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import numpy as np

from trainer.data import whole
from trainer.errors import TrainerError, disk_remedy

LAYOUT = 2  # raise when the meaning of the files changes

Encoded = tuple[list[int], list[int]]  # ids, and 1 for each id that is trained


@dataclass(frozen=True)
class Tokens:
    """Examples as flat arrays; example i is the half-open span starts[i]:starts[i+1]."""

    ids: Any
    trained: Any
    starts: Any
    rows: int | None = None  # that were read; more than there are examples where some were left out; None: not counted

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Any:
        """Tokens of each example, int64."""
        return np.diff(self.starts)

    def example(self, index: int) -> tuple[Any, Any]:
        """(ids, trained) of one example as numpy arrays."""
        span = slice(int(self.starts[index]), int(self.starts[index + 1]))
        return self.ids[span], self.trained[span]


def fingerprint(files: Iterable[Path], *parts: str) -> str:
    """sha256 over the bytes of `files` and the texts that decide how they are read."""
    digest = hashlib.sha256(b"layout %d" % LAYOUT)
    for part in parts:
        digest.update(hashlib.sha256(part.encode("utf-8", "surrogatepass")).digest())
    for path in files:
        inner = hashlib.sha256()
        with path.open("rb") as stream:
            for block in iter(lambda: stream.read(1 << 20), b""):
                inner.update(block)
        digest.update(inner.digest())
    return digest.hexdigest()


def default_cache() -> Path:
    """Where tokenised data is kept between runs: XDG_CACHE_HOME, else ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "envdoctor-trainer" / "tokens"


def cached_tokens(
    folder: Path, encode: Callable[[], Iterable[Encoded]], rows: Callable[[], int] | None = None
) -> tuple[Tokens, bool]:
    """The tokens in `folder`, and whether they were there already; else written from `encode()`, whole or not at all.

    A folder whose files do not have the recorded sizes is written again. rows: how many were read, asked at the end.
    """
    tokens = _open(folder)
    if tokens is not None:
        return tokens, True
    try:
        with whole.new_folder(folder) as partial:
            _write(partial, encode(), rows)
    except OSError as error:
        if _open(folder) is None:  # otherwise another run wrote the same content first
            raise TrainerError(
                "cache-not-writable",
                f"{folder}: {error.strerror or error}",
                disk_remedy(error) + " The setting cache names another folder.",
            ) from None
    written = _open(folder)
    if written is None:
        raise TrainerError(
            "cache-torn", f"{folder}: the files just written are incomplete", "Check the disk, then start again."
        )
    return written, False


def collect(encoded: Iterable[Encoded]) -> Tokens:
    """The same arrays in memory, without a folder."""
    ids, trained, lengths = _flatten(encoded)
    return Tokens(ids, trained, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))


def _flatten(encoded: Iterable[Encoded]) -> tuple[Any, Any, Any]:
    pieces, masks, lengths = [], [], []
    for ids, trained in encoded:
        pieces.append(np.asarray(ids, dtype=np.uint32))
        masks.append(np.asarray(trained, dtype=np.uint8))
        lengths.append(len(ids))
    flat = np.concatenate(pieces) if pieces else np.zeros(0, np.uint32)
    if not len(flat) or int(flat.max()) < 1 << 16:
        flat = flat.astype(np.uint16)
    return flat, np.concatenate(masks) if masks else np.zeros(0, np.uint8), np.asarray(lengths, dtype=np.int32)


def _write(folder: Path, encoded: Iterable[Encoded], rows: Callable[[], int] | None) -> None:
    """As they come: of all examples only the lengths are in memory at once."""
    kind: Any = np.dtype(np.uint16)
    lengths, count = array("i"), 0
    with ExitStack() as files:
        ids, marks = (files.enter_context((folder / name).open("wb")) for name in ("tokens.bin", "trained.bin"))
        for example, trained in encoded:
            values = np.asarray(example, dtype=np.uint32)
            if kind.itemsize == 2 and len(values) and int(values.max()) >= 1 << 16:
                ids.close()
                _widen(folder / "tokens.bin")
                kind, ids = np.dtype(np.uint32), files.enter_context((folder / "tokens.bin").open("ab"))
            ids.write(values.astype(kind).tobytes())
            marks.write(np.asarray(trained, dtype=np.uint8).tobytes())
            lengths.append(len(values))
            count += len(values)
    if not count:
        raise TrainerError(
            "empty-data", "no example is left: each is longer than tokens_per_row, or empty", "Raise tokens_per_row."
        )
    np.asarray(lengths, dtype=np.int32).tofile(folder / "lengths.bin")
    sizes = {name: (folder / name).stat().st_size for name in ("tokens.bin", "trained.bin", "lengths.bin")}
    meta = {"layout": LAYOUT, "dtype": str(kind), "examples": len(lengths), "tokens": count, "sizes": sizes}
    if rows is not None:
        meta["rows"] = rows()
    (folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")


def _widen(path: Path) -> None:
    """uint16 to uint32, a piece at a time."""
    wide = path.with_suffix(".wide")
    with path.open("rb") as narrow, wide.open("wb") as stream:
        for block in iter(lambda: narrow.read(1 << 20), b""):
            stream.write(np.frombuffer(block, dtype=np.uint16).astype(np.uint32).tobytes())
    os.replace(wide, path)


def _open(folder: Path) -> Any:
    try:
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        if any((folder / name).stat().st_size != size for name, size in meta["sizes"].items()) or not meta["tokens"]:
            return None
        lengths = np.fromfile(folder / "lengths.bin", dtype=np.int32)
        ids = np.memmap(folder / "tokens.bin", dtype=meta["dtype"], mode="r")
        trained = np.memmap(folder / "trained.bin", dtype=np.uint8, mode="r")
    except (OSError, ValueError, KeyError, TypeError):
        return None  # absent or not ours: the caller writes it
    return Tokens(ids, trained, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]), meta.get("rows"))
