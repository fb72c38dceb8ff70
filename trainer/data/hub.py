"""Models and data sets by their Hub names, through huggingface_hub and datasets: one commit each, and safetensors only.

A model becomes its folder in the Hub's own cache; a data set one parquet file in the cache of tokens, read as a stream,
so that neither needs the memory of the whole. Nothing of a repository is run: no trust_remote_code, no loading script.
"""

from __future__ import annotations

import difflib
import hashlib
import itertools
import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.data import whole
from trainer.errors import TrainerError, disk_remedy, in_one_line

NAME = re.compile(r"(?![./~])[\w.-]+(/[\w.-]+)?$")
# owner/name, then a configuration, a split, and the first so many rows of it.
DATA_SET = re.compile(r"(?P<name>[\w.-]+/[\w.-]+)(:(?P<config>[\w.-]+))?(@(?P<split>[\w.-]+)(\[:(?P<rows>\d+)\])?)?$")
FILES = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja"]  # of a model; weights in pickles stay where they are
GROUP = 4096  # rows written at a time
# Errors of Python, requests and httpx where nobody answers, by name: the Hub's library has used both.
_SILENCE = frozenset({"ConnectionError", "ConnectError", "TimeoutError", "TimeoutException"})
PATIENCE = 5.0  # seconds for the Hub to say what a name is, where HF_HUB_ETAG_TIMEOUT does not say another number


@dataclass(frozen=True)
class Fetched:
    """What a Hub name was at the time: `revision` is a commit."""

    name: str
    revision: str | None
    path: Path


def model(name: str, revision: str | None, say: Callable[[str], None]) -> Fetched:
    """The folder of that model, fetched where it is not yet. TrainerError says what stands against it."""
    hub = _hub()
    with explain_errors(name, "model", revision):
        if not hub.constants.is_offline_mode():
            say(f"fetching {name}" + (f" at {revision}" if revision else ""))
        here = isinstance(hub.try_to_load_from_cache(name, "config.json", revision=revision), str)
        if not here and not hub.constants.is_offline_mode():
            _info(name, "model", revision)
        folder = Path(hub.snapshot_download(name, revision=revision, allow_patterns=FILES))
    lacking = missing_parts(folder)
    if lacking == ["*.safetensors"]:
        raise TrainerError(
            "no-safetensors", f"{name} has no weights in safetensors, and pickles are not loaded",
            "Choose another model, or convert it: save_pretrained writes safetensors.",
        )  # fmt: skip
    if lacking:
        raise TrainerError(
            "half-downloaded", f"{name}: {', '.join(lacking[:3])} not there (in {folder})",
            f"Fetch the rest: hf download {name}",
        )  # fmt: skip
    return Fetched(name, folder.name if folder.parent.name == "snapshots" else None, folder)


def push(folder: Path, name: str, say: Callable[[str], None]) -> str:
    """Send a model's folder to the Hub, to a repository made private where there is none yet; returns its address."""
    hub = _hub()
    with explain_errors(name, "model", None):
        if hub.constants.is_offline_mode():
            raise TrainerError(
                "offline", f"{name}: nothing can be sent while the Hub is off (HF_HUB_OFFLINE)",
                f"Later: hf upload {name} {folder}",
            )  # fmt: skip
        say(f"sending {folder} to {name}")
        api = hub.HfApi()
        made = api.create_repo(name, private=True, exist_ok=True)
        api.upload_folder(repo_id=made.repo_id, folder_path=folder, commit_message="A trained model")
        return f"{api.endpoint}/{made.repo_id}"


def _info(name: str, kind: str, revision: str | None) -> Any:
    """What the Hub says of a repository: one attempt of PATIENCE seconds, the search for its address among them, where
    the library's own attempts go on for minutes. TimeoutError without an answer."""
    told: list[Any] = []
    asked = "HF_HUB_ETAG_TIMEOUT" in os.environ
    patience = float(_hub().constants.HF_HUB_ETAG_TIMEOUT) if asked else PATIENCE

    def ask() -> None:
        try:
            told.append(_hub().HfApi().repo_info(name, repo_type=kind, revision=revision, timeout=patience))
        except Exception as error:  # noqa: BLE001 - raised again where it is waited for
            told.append(error)

    asking = threading.Thread(target=ask, daemon=True)  # a name server that says nothing cannot be hurried
    asking.start()
    asking.join(patience)
    if not told:
        raise TimeoutError(f"nothing within {patience:g} s; HF_HUB_ETAG_TIMEOUT sets another time")
    if isinstance(told[0], Exception):
        raise told[0]
    return told[0]


def commit(name: str, revision: str | None) -> str:
    """That of a data set's revision, now."""
    return str(_info(name, "dataset", revision).sha)


def is_off() -> bool:
    """Is nothing to be asked of the Hub (HF_HUB_OFFLINE)?"""
    return bool(_hub().constants.is_offline_mode())


def missing_parts(folder: Path) -> list[str]:
    """Files that a model's folder ought to have and has not: config.json, its safetensors, each that an index names."""
    wanted = ["config.json"] if not (folder / "config.json").is_file() else []
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return wanted + ([] if any(folder.glob("*.safetensors")) else ["*.safetensors"])
    try:
        names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return [*wanted, index.name]
    return wanted + sorted(name for name in names if not (folder / name).is_file())


def data_set(text: str, revision: str | None, cache: Path, say: Callable[[str], None]) -> Fetched:
    """One parquet file with the rows of OWNER/NAME[:CONFIG][@SPLIT[[:N]]]; the split is "train" where none is named."""
    match = DATA_SET.match(text)
    if not match:
        raise TrainerError("no-data", f"{text}: no such file, nor a name on the Hub", "Set data to files or folders.")
    name, config, split = match["name"], match["config"], match["split"] or "train"
    most = int(match["rows"]) if match["rows"] else None
    with explain_errors(name, "dataset", revision):
        found = _fetched_before(cache, name, revision) if is_off() else commit(name, revision)
        key = hashlib.sha256(repr((name, config, split, most, found)).encode()).hexdigest()[:16]
        path = cache / "hub" / f"{name.replace('/', '--')}-{key}.parquet"
        if not path.is_file():
            say(f"fetching {text}")
            _materialise(path, name, config, split, most, found)
            note = {"name": name, "revision": revision, "commit": found}
            whole.write_file(path.with_suffix(".json"), json.dumps(note).encode())
    return Fetched(text, found, path)


def _materialise(path: Path, name: str, config: str | None, split: str, most: int | None, commit: str) -> None:
    import datasets
    import pyarrow
    import pyarrow.parquet as parquet

    datasets.disable_progress_bars()
    try:
        rows = datasets.load_dataset(name, config, split=split, revision=commit, streaming=True)
    except ValueError as error:  # an unknown configuration or split, each with those there are
        known = re.findall(r"'([^']+)'", str(error).split("Available")[-1].split("should be one of")[-1])
        near = difflib.get_close_matches(config or split, known, n=1, cutoff=0.3) or known[:5]
        raise TrainerError(
            "no-data", f"{name}: {in_one_line(error, 300)}",
            f"Name one as {name}:CONFIGURATION@SPLIT, here for example {', '.join(near) or 'train'}.",
        ) from None  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = whole.beside(path)
    try:
        writer, left = None, iter(rows if most is None else itertools.islice(rows, most))
        for chunk in iter(lambda: list(itertools.islice(left, GROUP)), []):
            table = pyarrow.Table.from_pylist(chunk, schema=writer.schema if writer else None)
            writer = writer or parquet.ParquetWriter(partial, table.schema)
            writer.write_table(table)
        if writer is None:
            raise TrainerError("empty-data", f"{name}: {split} has no rows", "Choose another split.")
        writer.close()
        whole.flush(partial)
        partial.rename(path)
    except OSError as error:
        raise TrainerError("cache-not-writable", f"{path}: {error.strerror or error}", disk_remedy(error)) from None
    finally:
        partial.unlink(missing_ok=True)


def _fetched_before(cache: Path, name: str, revision: str | None) -> str:
    notes = (cache / "hub").glob(f"{name.replace('/', '--')}-*.json")
    for note in sorted(notes, key=lambda path: path.stat().st_mtime, reverse=True):
        found = json.loads(note.read_text(encoding="utf-8"))
        if found["name"] == name and revision in (None, found["revision"], found["commit"]):
            return str(found["commit"])
    raise TrainerError(
        "offline", f"{name} was not fetched yet, and the Hub is off (HF_HUB_OFFLINE)",
        f"With a network: hf download --repo-type dataset {name}, and give its files; or unset HF_HUB_OFFLINE.",
    )  # fmt: skip


def _hub() -> Any:
    try:
        import huggingface_hub
        import huggingface_hub.constants
        import huggingface_hub.errors
    except ImportError as error:
        raise TrainerError(
            "no-hub", f"Hub names need huggingface_hub ({error})", "Install it, or give a folder."
        ) from None
    return huggingface_hub


@contextmanager
def explain_errors(name: str, kind: str, revision: str | None) -> Iterator[None]:
    """Errors of the Hub as one clear sentence and what to do."""
    errors = _hub().errors
    option = "--repo-type dataset " if kind == "dataset" else ""
    word = "data set" if kind == "dataset" else kind
    try:
        yield
    except errors.GatedRepoError:
        raise TrainerError(
            "gated", f"{name} is gated: its owner gives it to people who asked",
            f"Ask on its page, then sign in here: hf auth login (or set HF_TOKEN), and try: hf download {option}{name}",
        ) from None  # fmt: skip
    except errors.RevisionNotFoundError:
        raise TrainerError(
            "no-revision", f"{name} has no revision {revision}", "Name a branch, a tag or a commit, or leave it out."
        ) from None
    except errors.RepositoryNotFoundError:
        near = _near(name, kind)
        hint = f"Did you mean {near}? " if near else ""
        raise TrainerError(
            "no-such-repository", f"{name}: no folder here, and no {word} of this name on the Hub",
            f"{hint}A private one needs hf auth login (or HF_TOKEN).",
        ) from None  # fmt: skip
    except (errors.OfflineModeIsEnabled, errors.LocalEntryNotFoundError, errors.IncompleteSnapshotError) as error:
        if _hub().constants.is_offline_mode():  # what the library says of its cache tells nobody more
            raise TrainerError(
                "offline", f"{name} is not here, and the Hub is off (HF_HUB_OFFLINE)",
                f"With a network: hf download {option}{name}",
            ) from None  # fmt: skip
        raise TrainerError(
            "offline", f"{name} is not here, and the Hub does not answer ({in_one_line(error, 120)})",
            f"Try again, or fetch it elsewhere: hf download {option}{name}",
        ) from None  # fmt: skip
    except errors.HfHubHTTPError as error:
        code = getattr(getattr(error, "response", None), "status_code", None)
        if code in (401, 403):
            raise TrainerError(
                "not-allowed", f"{name}: the Hub refuses ({code})", "Sign in: hf auth login, or set HF_TOKEN."
            ) from None
        raise TrainerError(
            "hub-failed", f"{name}: {in_one_line(error, 200)}", f"Try again, or: hf download {option}{name}"
        ) from None
    except errors.HFValidationError as error:
        raise TrainerError("bad-name", in_one_line(error, 200), "A Hub name is OWNER/NAME.") from None
    except Exception as error:
        if _SILENCE.intersection(kind.__name__ for kind in type(error).__mro__):
            raise TrainerError(
                "offline", f"{name} is not here, and the Hub does not answer ({in_one_line(error, 120)})",
                f"Try again, or fetch it elsewhere: hf download {option}{name}",
            ) from None  # fmt: skip
        package = type(error).__module__.partition(".")[0]
        if not package.startswith("http") and package not in ("requests", "aiohttp", "fsspec", "datasets"):
            raise
        raise TrainerError(
            "hub-failed", f"{name}: {in_one_line(error, 200)}", f"Try again, or: hf download {option}{name}"
        ) from None


def _near(name: str, kind: str) -> str | None:
    """The name on the Hub nearest to one that is not there."""
    api, part = _hub().HfApi(), name.rpartition("/")[2]
    try:
        listed = api.list_models if kind == "model" else api.list_datasets
        found = listed(search=part[: max(3, len(part) - 2)], limit=20)
        names = [item.id for item in found]
    except Exception:  # noqa: BLE001 - a hint is not worth an error of its own
        return None
    return next(iter(difflib.get_close_matches(name, names, n=1, cutoff=0.5)), None)
