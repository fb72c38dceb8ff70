"""Reports of a fleet as they come: files, folders of them, or anything that fsspec can list (s3://, gs://, hf://)."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from envdoctor.errors import Trouble
from envdoctor.facts.model import SCHEMA
from envdoctor.facts.probe.environment.files import regular
from envdoctor.facts.recorded import SIZE_LIMIT

Report = tuple[str, dict[str, Any] | str]  # machine, and its parsed report or why it could not be read
_REMEDY = "Write the file again with `envdoctor facts --output FILE`."
_KINDS = ("facts", "speed", "verify", "preflight")  # n1.speed.json and n1.facts.json are both of n1


def reports(places: Sequence[str]) -> Iterator[Report]:
    """Every report, one after the other, named after its file, or by its path where two files have one name.

    A folder is searched for ``*.json`` with all below it. Raises `Trouble` for a place that is named and cannot be
    read; what cannot be read inside a folder comes with its reason instead.
    """
    stems = [Path(place).stem for place in places]
    for place, stem in zip(places, stems, strict=True):
        if "://" in place:
            yield from _remote(place)
        elif os.path.isdir(place):
            yield from _below(place, place)
        else:
            path = Path(place)
            try:
                data = _read(path)
            except OSError as error:
                raise Trouble(error.strerror or str(error), file=path, remedy="Check the path.") from error
            parsed = parse(data)
            if isinstance(parsed, str):
                raise Trouble(parsed, file=path, remedy=_REMEDY)
            yield (str(path) if stems.count(stem) > 1 else machine(path.name)), parsed


def parse(data: bytes) -> dict[str, Any] | str:
    """A report, or why it is none."""
    if len(data) > SIZE_LIMIT:
        return f"larger than {SIZE_LIMIT // (1024 * 1024)} MiB"
    try:
        document = json.loads(data)
    except json.JSONDecodeError as error:
        return f"not valid JSON: {error.msg}, line {error.lineno}"
    except (ValueError, RecursionError) as error:
        return f"not readable as JSON ({type(error).__name__})"
    if not isinstance(document, dict) or not any(isinstance(document.get(k), t) for k, t in _MARKS.items()):
        return "not a file of recorded facts, nor a verdict on a speed"
    schema = document.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool):
        return f"schema is {schema!r:.40}, not a number"
    if schema > SCHEMA:
        return f"written by a newer envdoctor (schema {schema}; this one reads {SCHEMA})"
    return document


_MARKS: dict[str, type] = {"facts": dict, "verdict": str, "speed": dict}


def machine(name: str) -> str:
    """The machine that a file is of."""
    stem = name.removesuffix(".json")
    head, dot, kind = stem.rpartition(".")
    return head if dot and kind in _KINDS else stem


def _read(path: str | Path) -> bytes:
    with open(path, "rb", buffering=0) as stream:
        return stream.read(SIZE_LIMIT + 1)


def _read_found(path: str) -> bytes:
    """A file that nobody has named: not waited for, whatever it is (a pipe, a terminal, the kernel's log)."""
    with open(path, "rb", buffering=0, opener=regular) as stream:
        return stream.read(SIZE_LIMIT + 1) or b""  # None: a file of the kernel that has nothing to say yet


def _below(folder: str, top: str) -> Iterator[Report]:
    folders = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name.endswith(".json"):
                    try:
                        found = parse(_read_found(entry.path))
                    except OSError as error:
                        found = error.strerror or str(error)
                    yield machine(os.path.relpath(entry.path, top) if folder != top else entry.name), found
    except OSError as error:
        raise Trouble(error.strerror or str(error), file=Path(folder)) from error
    for each in folders:
        yield from _below(each, top)


def _remote(place: str) -> Iterator[Report]:
    """Through fsspec, which knows hundreds of stores, if it is installed beside envdoctor."""
    try:
        fsspec = importlib.import_module("fsspec")
    except ImportError as error:
        raise Trouble(
            f"{place} is not a folder of this machine, and fsspec is not installed beside envdoctor",
            remedy="Install it, with the package of that store: pip install fsspec s3fs",
        ) from error
    try:
        files, root = fsspec.core.url_to_fs(place)
        names = sorted(files.find(root)) if files.isdir(root) else [root]
        for name in names:
            if not str(name).endswith(".json") and name != root:
                continue
            with files.open(name, "rb") as stream:
                found = parse(stream.read(SIZE_LIMIT + 1))
            yield machine(str(name).removeprefix(str(root)).lstrip("/") or Path(str(name)).name), found
    except Trouble:
        raise
    except Exception as error:  # each store raises its own kinds
        raise Trouble(
            f"{type(error).__name__}: {error}", file=Path(place), remedy="Check the address and your access to it."
        ) from error
