"""What the headers of safetensors files say: every tensor's name, type and shape, without reading a weight.

The format (github.com/huggingface/safetensors): 8 bytes with the length of the header, little-endian; the header, JSON;
the weights. A model in several files has an index that names them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from envdoctor.errors import Trouble
from envdoctor.values.document import read_json
from envdoctor.values.frozen import frozen

LONGEST = 100 * 1024 * 1024  # bytes of a header: the format's own limit
INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)\.")


@frozen
class Headers:
    """``parameters``: numbers in all tensors; ``layers``: decoder layers by the tensors' names; ``dtypes``: numbers by
    type; ``packed``: some tensors are integers, so that a number is not a weight."""

    files: int
    tensors: int
    parameters: int
    layers: int
    dtypes: Mapping[str, int]

    @property
    def packed(self) -> bool:
        return any(name.startswith(("U", "I")) for name in self.dtypes)


def of_folder(folder: Path) -> Headers | None:
    """The headers of a model's folder; None where no safetensors file lies in it. Raises `Trouble` for broken ones."""
    index = folder / INDEX
    if index.is_file():
        document = read_json(index, limit=64 * 1024 * 1024)
        named = document.get("weight_map") if isinstance(document, dict) else None
        if not isinstance(named, dict) or not all(isinstance(name, str) for name in named.values()):
            raise Trouble("has no weight_map", file=index, remedy="Download the model again.")
        names = sorted(set(named.values()))
        if any("/" in name or "\\" in name or name.startswith("..") for name in names):
            raise Trouble("names a file outside its folder", file=index, where="weight_map")
    else:
        names = [SINGLE] if (folder / SINGLE).is_file() else sorted(path.name for path in folder.glob("*.safetensors"))
    names = [name for name in names if not name.startswith("adapter")]
    return of_files([folder / name for name in names]) if names else None


def of_files(paths: list[Path]) -> Headers:
    """The headers of these files together. A tensor that several hold counts once."""
    tensors: dict[str, tuple[str, int]] = {}
    for path in paths:
        tensors.update(_tensors(path))
    dtypes: dict[str, int] = {}
    for dtype, count in tensors.values():
        dtypes[dtype] = dtypes.get(dtype, 0) + count
    layers = {int(found[1]) for name in tensors if (found := _LAYER.search(name))}
    return Headers(
        files=len(paths), tensors=len(tensors), parameters=sum(dtypes.values()), layers=len(layers), dtypes=dtypes
    )


def _tensors(path: Path) -> Iterator[tuple[str, tuple[str, int]]]:
    header = _header(path)
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        dtype, shape = (entry.get("dtype"), entry.get("shape")) if isinstance(entry, dict) else (None, None)
        sizes = isinstance(shape, list) and all(isinstance(n, int) and 0 <= n < 2**40 for n in shape)
        if not isinstance(dtype, str) or not sizes:
            raise Trouble("has no dtype and shape", file=path, where=f"tensor {name[:80]!r}", remedy=AGAIN)
        yield name, (dtype, math.prod(shape or ()))


AGAIN = "The file is damaged: download it again."


def _header(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if not 2 <= length <= LONGEST:
                raise Trouble("is no safetensors file (a git-lfs pointer?)", file=path, remedy=AGAIN)
            text = stream.read(length)
    except OSError as error:
        raise Trouble(error.strerror or str(error), file=path, remedy="Download the model's files.") from error
    try:
        found = json.loads(text) if len(text) == length else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Trouble("its header is cut off or no JSON", file=path, remedy=AGAIN)
    return found
