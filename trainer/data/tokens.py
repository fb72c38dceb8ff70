"""Tokenised examples on disk: written once, memory-mapped by every later run.

A token folder holds tokens.bin (uint16 or uint32), trained.bin (one byte per token: 1 where the loss asks for that
token), lengths.bin (int32 per example) and meta.json. Its name is a hash of everything that decides its content.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import numpy as np

from trainer.data import whole
from trainer.errors import TrainerError, disk_remedy

LAYOUT = 1  # raise when the meaning of the files changes

Encoded = tuple[list[int], list[int]]  # ids, and 1 for each id that is trained


@dataclass(frozen=True)
class Tokens:
    """Examples as flat arrays; example i is the half-open span starts[i]:starts[i+1]."""

    ids: Any
    trained: Any
    starts: Any

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


def cached(folder: Path, encode: Callable[[], Iterable[Encoded]]) -> tuple[Tokens, bool]:
    """The tokens in `folder`, and whether they were there already; else written from `encode()`, whole or not at all.

    A folder whose files do not have the recorded sizes is written again.
    """
    tokens = _open(folder)
    if tokens is not None:
        return tokens, True
    try:
        with whole.new_folder(folder) as partial:
            _write(partial, encode())
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


def _write(folder: Path, encoded: Iterable[Encoded]) -> None:
    ids, trained, lengths = _flatten(encoded)
    sizes = {}
    for name, array in (("tokens.bin", ids), ("trained.bin", trained), ("lengths.bin", lengths)):
        array.tofile(folder / name)
        sizes[name] = int(array.nbytes)
    meta = {"layout": LAYOUT, "dtype": str(ids.dtype), "examples": len(lengths), "tokens": len(ids), "sizes": sizes}
    (folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")


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
    return Tokens(ids, trained, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))
