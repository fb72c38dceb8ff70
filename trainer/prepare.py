"""`python -m trainer prepare`: texts in, a folder of token shards out, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from pathlib import Path
from typing import Any, Callable, Dict, List

import numpy as np

from trainer import tokens
from trainer.errors import TrainerError
from trainer.examples import existing
from trainer.settings import Settings
from trainer.shards import SCHEMA, read_index, tokenizer_fingerprint
from trainer.tasks.sft import load_tokenizer
from trainer.texts import encoded

EVERY = 1 << 25  # tokens between lines of progress


def prepare(settings: Settings, say: Callable[[str], None]) -> Dict[str, Any]:
    """Write the shards of `settings.data` to `settings.output`; what is there already from the same input is kept.

    TrainerError names the file and place of bad input, or the folder that has something else in it.
    """
    files = existing(settings.data)
    tokenizer = load_tokenizer(settings, None)
    if tokenizer.eos_token_id is None:
        raise TrainerError("no-end-token", "the tokenizer has no end token", "Set eos_token in its configuration.")
    marks = tokenizer_fingerprint(tokenizer)
    identity = tokens.fingerprint(
        files, "shards %d" % SCHEMA, marks, repr([settings.text_field, settings.shard_tokens])
    )
    target = Path(settings.output)
    if target.exists() and any(target.iterdir()):
        return _already(target, identity)
    partial = target.with_name("%s.tmp-%s" % (target.name, uuid.uuid4().hex[:8]))
    try:
        partial.mkdir(parents=True)
        index = {
            "schema": SCHEMA,
            "identity": identity,
            "tokenizer": marks,
            **_write(partial, files, tokenizer, settings, say),
        }
        (partial / "index.json").write_text(json.dumps(index, indent=1), encoding="utf-8")
        for path in [*partial.iterdir(), partial]:
            _flush(path)
        if target.exists():
            target.rmdir()
        os.rename(partial, target)
    except OSError as error:
        raise TrainerError(
            "shards-not-written", "%s: %s" % (target, error.strerror or error), "Free some space, then start again."
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return _summary(index, False)


def _already(target: Path, identity: str) -> Dict[str, Any]:
    try:
        index = read_index(target)
    except TrainerError:
        index = {}
    if index.get("identity") != identity:
        raise TrainerError(
            "output-not-empty", "%s has something else in it" % target, "Choose another output, or remove that folder."
        )
    return _summary(index, True)


def _summary(index: Dict[str, Any], kept: bool) -> Dict[str, Any]:
    count = {name: sum(entry[name] for entry in index["shards"]) for name in ("tokens", "documents")}
    return {**count, "shards": len(index["shards"]), "dtype": index["dtype"], "kept": kept}


def _write(folder: Path, files: List[Path], tokenizer: Any, settings: Settings, say: Callable[[str], None]) -> Any:
    dtype = np.dtype("<u2" if len(tokenizer) <= 1 << 16 else "<u4")
    entries: List[Dict[str, Any]] = []
    waiting: List[Any] = []
    size = told = done = 0

    def close() -> None:
        ids = np.concatenate(waiting)
        lengths = np.asarray([len(document) for document in waiting], dtype="<i4")
        name = "shard-%05d" % len(entries)
        entry: Dict[str, Any] = {"tokens": len(ids), "documents": len(lengths)}
        for key, digest, ending, array in (
            ("name", "sha256", "bin", ids),
            ("lengths", "lengths_sha256", "lengths", lengths),
        ):
            data = array.tobytes()
            (folder / ("%s.%s" % (name, ending))).write_bytes(data)
            entry.update({key: "%s.%s" % (name, ending), digest: hashlib.sha256(data).hexdigest()})
        entries.append(entry)
        waiting.clear()

    for document in encoded(files, tokenizer, settings.text_field):
        waiting.append(np.asarray(document, dtype=dtype))
        size += len(document)
        done += len(document)
        if done - told >= EVERY:
            told = done
            say("%d M tokens in %d shards" % (done // 1_000_000, len(entries)))
        if size >= settings.shard_tokens:
            close()
            size = 0
    if waiting:
        close()
    if not entries:
        raise TrainerError("empty-data", "%s: only empty texts" % files[0], "Give a file with at least one text.")
    return {
        "dtype": "uint16" if dtype.itemsize == 2 else "uint32",
        "text_field": settings.text_field,
        "shards": entries,
    }


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
