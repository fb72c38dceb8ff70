"""The folder through which probes answer: files, so that whatever a probe prints does no harm."""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path
from typing import Any

from envdoctor.errors import Trouble

PLACES = ("/tmp", "/var/tmp", "/dev/shm")  # after TMPDIR, and before our own cache
SIZE_LIMIT = 64 * 1024 * 1024  # bytes of one answer; 1,000 packages make 1 MB


def new_folder() -> Path:
    """A new folder that only this user may enter, in the first place that takes one."""
    problem = ""
    for place in (os.environ.get("TMPDIR"), os.environ.get("TEMP"), *PLACES, _cache()):
        if not place or not os.path.isabs(place):
            continue
        folder = Path(place, f"envdoctor-{os.getpid()}-{os.urandom(6).hex()}")
        try:
            if place == _cache():
                os.makedirs(place, mode=0o700, exist_ok=True)
            folder.mkdir(mode=0o700)
            # A full disk takes folders, but no files
            (folder / "probe").write_bytes(b"\n" * 8192)
        except OSError as error:
            problem = problem or f"{place}: {error.strerror or error}"
            remove(folder)
            continue
        return folder
    remedy = "Set TMPDIR to a directory that you may write to and that has space."
    raise Trouble(f"no place for temporary files ({problem})", remedy=remedy, exit_code=3)


def _cache() -> str:
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "envdoctor")


def remove(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            path.unlink(missing_ok=True)
        folder.rmdir()


_ODD = re.compile(rb"\\[^\"\\/nt]|[^\x20-\x7e]")
"""Only through an escape can a text that a probe writes (in ASCII) have a control character."""


def read(path: Path) -> list[dict[str, Any]]:
    """The answer of a probe, as far as it got: whole lines of JSON objects."""
    try:
        with path.open("rb") as stream:
            data = stream.read(SIZE_LIMIT)
    except OSError:
        return []
    found = []
    for line in data.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(line)
            if isinstance(value, dict):
                found.append(clean(value) if _ODD.search(line) else value)
    return found


def clean(value: Any) -> Any:
    """A JSON value without control characters in its texts, which come from files that anybody may write."""
    from envdoctor.facts.scrub import printable  # not needed yet when the probes are started

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return printable(value, keep_lines=True)
        if isinstance(value, dict):
            return {walk(key): walk(member) for key, member in value.items()}
        return [walk(member) for member in value] if isinstance(value, list) else value

    return walk(value)
