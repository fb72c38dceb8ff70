"""`envdoctor train prepare`: texts in, a folder of token shards out, whole or not at all."""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable

import numpy as np

from trainer.data import tokens, whole
from trainer.data.examples import existing_files
from trainer.data.fasttokenizer import Tokenizer
from trainer.data.shards import SCHEMA, read_index, tokenizer_fingerprint
from trainer.data.texts import check_end_token, encode_texts
from trainer.data.tokenizer import load_tokenizer
from trainer.errors import TrainerError, disk_remedy
from trainer.options.settings import Settings

EVERY = 1 << 25  # tokens between lines of progress


def prepare(settings: Settings, say: Callable[[str], None]) -> dict[str, Any]:
    """Write the shards of `settings.data` to `settings.output`; what is there already from the same input is kept.

    TrainerError names the file and place of bad input, or the folder that has something else in it.
    """
    files, tokenizer = existing_files(settings.data), load_tokenizer(settings, None)
    return _make_shards(Path(settings.output), files, tokenizer, settings, say)


def _make_shards(
    target: Path, files: list[Path], tokenizer: Tokenizer, settings: Settings, say: Callable[[str], None]
) -> dict[str, Any]:
    check_end_token(tokenizer)
    marks, identity = tokenizer_fingerprint(tokenizer), _identity(files, tokenizer, settings)
    if target.exists() and any(target.iterdir()):
        return _already(target, identity)
    try:
        with whole.new_folder(target) as folder:
            written = _write(folder, files, tokenizer, settings, say)
            index = {"schema": SCHEMA, "identity": identity, "tokenizer": marks, **written}
            (folder / "index.json").write_text(json.dumps(index, indent=1), encoding="utf-8")
    except OSError as error:
        raise TrainerError("shards-not-written", f"{target}: {error.strerror or error}", disk_remedy(error)) from None
    return _summary(index, False)


def in_cache(names: Sequence[str], tokenizer: Tokenizer, settings: Settings, say: Callable[[str], None]) -> Path:
    """The folder with the shards of these files of texts, in the cache; what is there already is not made again.

    The processes of a run come here at once: the first one writes. TrainerError as of `prepare`.
    """
    base = Path(settings.cache) if settings.cache else tokens.default_cache()
    files = existing_files(names)
    target = base / ("shards-" + _identity(files, tokenizer, settings)[:24])
    try:
        base.mkdir(parents=True, exist_ok=True)
        with target.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found = _make_shards(target, files, tokenizer, settings, say)
    except OSError as error:
        raise TrainerError(
            "cache-not-writable", f"{base}: {error.strerror or error}",
            disk_remedy(error) + " The setting cache names another folder.",
        ) from None  # fmt: skip
    if not found["kept"]:
        say(f"{', '.join(names)}: {found['tokens']} tokens of {found['documents']} documents, kept in {target}")
    return target


def _identity(files: Sequence[Path], tokenizer: Tokenizer, settings: Settings) -> str:
    marks = tokenizer_fingerprint(tokenizer)
    return tokens.fingerprint(files, f"shards {SCHEMA}", marks, repr([settings.text_field, settings.shard_tokens]))


def _already(target: Path, identity: str) -> dict[str, Any]:
    try:
        index = read_index(target)
    except TrainerError:
        index = {}
    if index.get("identity") != identity:
        raise TrainerError(
            "output-not-empty", f"{target} has something else in it", "Choose another output, or remove that folder."
        )
    return _summary(index, True)


def _summary(index: dict[str, Any], kept: bool) -> dict[str, Any]:
    count = {name: sum(entry[name] for entry in index["shards"]) for name in ("tokens", "documents")}
    return {**count, "shards": len(index["shards"]), "dtype": index["dtype"], "kept": kept}


def _write(
    folder: Path, files: list[Path], tokenizer: Tokenizer, settings: Settings, say: Callable[[str], None]
) -> Any:
    dtype = np.dtype("<u2" if len(tokenizer) <= 1 << 16 else "<u4")
    entries: list[dict[str, Any]] = []
    waiting: list[Any] = []
    size = told = done = 0

    def close() -> None:
        ids = np.concatenate(waiting)
        lengths = np.asarray([len(document) for document in waiting], dtype="<i4")
        name = f"shard-{len(entries):05d}"
        entry: dict[str, Any] = {"tokens": len(ids), "documents": len(lengths)}
        for key, digest, ending, array in (
            ("name", "sha256", "bin", ids),
            ("lengths", "lengths_sha256", "lengths", lengths),
        ):
            data = array.tobytes()
            (folder / (f"{name}.{ending}")).write_bytes(data)
            entry.update({key: f"{name}.{ending}", digest: hashlib.sha256(data).hexdigest()})
        entries.append(entry)
        waiting.clear()

    for document in encode_texts(files, tokenizer, settings.text_field):
        waiting.append(np.asarray(document, dtype=dtype))
        size += len(document)
        done += len(document)
        if done - told >= EVERY:
            told = done
            say(f"{done // 1_000_000} M tokens in {len(entries)} shards")
        if size >= settings.shard_tokens:
            close()
            size = 0
    if waiting:
        close()
    if not entries:
        raise TrainerError("empty-data", f"{files[0]}: only empty texts", "Give a file with at least one text.")
    return {
        "dtype": "uint16" if dtype.itemsize == 2 else "uint32",
        "text_field": settings.text_field,
        "shards": entries,
    }
