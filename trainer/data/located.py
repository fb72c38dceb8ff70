"""Where models and data lie: files, folders, globs and Hub names, as settings that name files and folders only."""

from __future__ import annotations

import difflib
import glob
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trainer.data import hub, remote, tokens
from trainer.data.examples import SUFFIXES, suffix_of
from trainer.data.workloads import DATA
from trainer.errors import TrainerError
from trainer.options.settings import Settings

BUNDLED = "bundled:"  # before a name: of a file that comes with the trainer
Say = Callable[[str], None]


def locate(settings: Settings, task: str, say: Say) -> tuple[Settings, dict[str, Any]]:
    """The settings with every name replaced by what it stands for, and what came from the Hub, for the report.

    TrainerError tells what is not there, and what to do about it.
    """
    fetched: dict[str, Any] = {}
    changed: dict[str, Any] = {}
    for name in ("model", "tokenizer"):
        value = getattr(settings, name)
        if value:
            revision = settings.revision if name == "model" or value == settings.model else None
            found = folder_of(value, revision, say)
            changed[name] = str(found.path)
            if found.revision:
                fetched[name] = {"name": value, "revision": found.revision}
    cache = Path(settings.cache) if settings.cache else tokens.default_cache()
    for name in ("data", "eval_data"):
        paths: list[str] = []
        counts: list[int] = []
        for item in getattr(settings, name):
            read = settings.streaming and name == "data"
            found_here, commit = (read and _remote(item, settings, cache, say)) or _data(
                item, settings, task, cache, say
            )
            paths += found_here
            counts.append(len(found_here))
            if commit:
                fetched.setdefault(name, []).append({"name": item, "revision": commit})
        changed[name] = tuple(paths)
        if name == "data" and settings.data_weights:
            weights = _weights(settings)
            changed["data_weights"] = tuple(str(w) for w, count in zip(weights, counts) for _ in range(count))
    return replace(settings, **changed), fetched


def folder_of(value: str, revision: str | None, say: Say) -> hub.Fetched:
    """A model's folder, or that of a Hub name. TrainerError when it is neither."""
    path = _bundled_file(value) if value.startswith(BUNDLED) else Path(value)
    if path.is_dir():
        lacking = [name for name in hub.missing_parts(path) if name not in ("config.json", "*.safetensors")]
        if lacking:
            raise TrainerError(
                "half-downloaded", f"{path}: {', '.join(lacking[:3])} not there", "Copy or download the folder again."
            )
        return hub.Fetched(value, None, path)
    if path.exists() or not hub.NAME.match(value) or value.count("/") > 1:
        near = _beside(path)
        raise TrainerError(
            "no-model", f"{value}: no such folder" + (" (it is a file)" if path.is_file() else ""),
            f"Did you mean {near}?" if near else "Give a folder with config.json and safetensors, or a Hub name.",
        )  # fmt: skip
    return hub.model(value, revision, say)


def _data(item: str, settings: Settings, task: str, cache: Path, say: Say) -> tuple[list[str], str | None]:
    if item.startswith(BUNDLED):
        return [str(_bundled_file(item))], None
    path = Path(item)
    if path.is_file() or (task == "pretrain" and (path / "index.json").exists()):  # token shards
        return [item], None
    if path.is_dir():
        inside = sorted(str(one) for one in path.iterdir() if one.is_file() and suffix_of(one) in SUFFIXES)
        if any(name.endswith(".arrow") for name in inside):  # written by Dataset.save_to_disk
            inside = [name for name in inside if name.endswith(".arrow")]
        if not inside:
            raise TrainerError("no-data", f"{item}: no data files in it", f"Known are {', '.join(sorted(SUFFIXES))}.")
        return inside, None
    if glob.has_magic(item) and not hub.DATA_SET.match(item):
        matching = sorted(glob.glob(item, recursive=True))
        if not matching:
            raise TrainerError("no-data", f"{item}: no file matches", "Quote the pattern, and try it with ls.")
        return matching, None
    if hub.DATA_SET.match(item) and suffix_of(path) not in SUFFIXES:
        found = hub.data_set(item, settings.data_revision, cache, say)
        return [str(found.path)], found.revision
    near = _beside(path)
    raise TrainerError(
        "no-data", f"no such file: {item}",
        f"Did you mean {near}?" if near else "Set data to files, folders, patterns or data sets of the Hub.",
    )  # fmt: skip


def _remote(item: str, settings: Settings, cache: Path, say: Say) -> tuple[list[str], str] | None:
    """The files of a data set of the Hub, unfetched; None for what is something else, or has to be fetched."""
    if Path(item).exists() or suffix_of(Path(item)) in SUFFIXES or not hub.DATA_SET.match(item):
        return None
    found = remote.notes(item, settings.data_revision, cache, say)
    return found and ([str(path) for path in found[0]], found[1])


def _bundled_file(item: str) -> Path:
    path = DATA / item[len(BUNDLED) :]
    if not path.exists() or path.parent != DATA:
        names = sorted(one.name for one in DATA.glob("*.jsonl"))
        raise TrainerError("no-data", f"{item}: nothing of this name is bundled", f"There are {', '.join(names)}.")
    return path


def _weights(settings: Settings) -> Sequence[float]:
    try:
        weights = [float(text) for text in settings.data_weights]
    except ValueError:
        weights = []
    if len(weights) != len(settings.data) or not all(weight > 0 for weight in weights):
        raise TrainerError(
            "bad-setting", f"data_weights {' '.join(settings.data_weights)}: {len(settings.data)} numbers above 0 are "
            "needed, one for each of data", "1 is one pass over it in each epoch, 0.5 a half, 2 two.",
        )  # fmt: skip
    return weights


def _beside(path: Path) -> str | None:
    """A name near to this one in the same folder."""
    try:
        names = [one.name for one in path.parent.iterdir()]
    except OSError:
        return None
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.6)
    return str(path.parent / near[0]) if near else None
