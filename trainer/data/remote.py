"""Files of a data set of the Hub that are read where they lie: what is streamed from there is never all on a disk.

A note stands for each of them in the cache: FILE.remote, JSON with its address at one commit. Of parquet, whole row
groups are asked for, and of lines the bytes from some place on, so that going on asks for nothing that lies before.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from trainer.data import hub, whole

SUFFIX = ".remote"
READ = (".parquet", ".jsonl", ".jsonl.gz", ".ndjson", ".json.gz")  # by rows or lines, from any place on
BLOCK = 8 << 20  # bytes asked for at a time


def is_remote(path: Path) -> bool:
    """Is this a note?"""
    return path.suffix == SUFFIX


def notes(text: str, revision: str | None, cache: Path, say: Callable[[str], None]) -> tuple[list[Path], str] | None:
    """A note for each file of OWNER/NAME[:CONFIG][@SPLIT], and the commit; None where they can only be fetched: some of
    the rows, other kinds of files, without a network. TrainerError where the Hub has no such data set.
    """
    match = hub.DATA_SET.match(text)
    if match is None or match["rows"] or hub.is_off():
        return None
    name = match["name"]
    with hub.explain_errors(name, "dataset", revision):
        commit = hub.commit(name, revision)
        addresses = _addresses(name, match["config"], match["split"] or "train", commit)
    if not addresses:
        say(f"{text} is no parquet and no JSON lines, which could be read where they lie: it is fetched as a whole")
        return None
    folder = cache / "hub" / f"{name.replace('/', '--')}-{commit[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for address in addresses:
        inside = address.partition(f"@{commit}/")[2] or address.rpartition("/")[2]
        found.append(folder / (inside.replace("/", "--") + SUFFIX))
        if not found[-1].exists():
            whole.write_file(found[-1], json.dumps({"name": name, "address": address}).encode())
    say(f"{text}: {len(found)} file{'s' if len(found) > 1 else ''} read on the Hub, at {commit[:8]}")
    return found, commit


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a data file, here or on the Hub. TrainerError where the Hub does not give them."""
    if not is_remote(path):
        with path.open("rb") as stream:
            yield stream
        return
    import huggingface_hub

    note = json.loads(path.read_text(encoding="utf-8"))
    found = huggingface_hub.HfFileSystem()
    with hub.explain_errors(note["name"], "dataset", None), found.open(note["address"], "rb", block_size=BLOCK) as raw:
        yield io.BufferedReader(raw)  # whose lines can be limited


def _addresses(name: str, config: str | None, split: str, commit: str) -> list[str]:
    """Of the files of a split; [] where there is none, or one that is not read from any place on."""
    import datasets

    try:
        builder: Any = datasets.load_dataset_builder(name, config, revision=commit)
    except ValueError:
        return []  # an unknown configuration: who fetches it tells
    listed = (getattr(builder.config, "data_files", None) or {}).get(split, [])
    found = [str(address) for address in listed]
    plain = not getattr(builder.config, "field", None) and all(address.endswith(READ) for address in found)
    return found if plain else []
