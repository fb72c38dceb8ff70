"""Correcting what an installer wrote about the clone's path: scripts, activation, settings; and their RECORD lines.

Installers write the path of the environment they work on into scripts (``#!``), ``activate*`` and ``pyvenv.cfg``.
A clone takes the environment's place afterwards, so these texts must name that place. Files are replaced by new ones,
never written through: a hard link may be shared with the previous state or with the installer's cache.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from envdoctor.change.clone import copy_file
from envdoctor.change.distributions import join, scan

_LIMIT = 1024 * 1024  # bytes; no script or settings file is larger


def correct(clone: Path, final: Path, libraries: Sequence[Path]) -> tuple[Path, ...]:
    """Replace the clone's path by the final one wherever installers write it; returns the corrected files.

    ``final`` is the path that the user knows the environment by.
    """
    corrected = []
    for file in _candidates(clone, libraries):
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _LIMIT:
            continue
        old = file.read_bytes()
        new = _rewrite(old, clone, final)
        if new != old:
            replace_bytes(file, new)
            corrected.append(file)
    if corrected:
        _update_records(corrected, libraries)
    return tuple(corrected)


def _candidates(clone: Path, libraries: Sequence[Path]) -> Iterator[Path]:
    for folder in (clone, clone / "bin", clone / "etc" / "conda" / "activate.d"):
        if folder.is_dir():
            yield from sorted(folder.iterdir())
    for library in libraries:
        for entry in sorted(os.listdir(library)):
            if entry.endswith((".pth", ".egg-link")):
                yield library / entry
            elif entry.endswith(".dist-info") and (library / entry).is_dir():
                yield from (library / entry / name for name in ("direct_url.json", "uv_cache.json"))


def _rewrite(text: bytes, clone: Path, final: Path) -> bytes:
    slot = os.fsencode(clone.name)
    if b".envdoctor-" not in text:
        return text
    text = text.replace(os.fsencode(clone) + b"/", os.fsencode(final) + b"/")
    text = re.sub(re.escape(os.fsencode(clone)) + rb"(?![\w.-])", lambda _: os.fsencode(final), text)
    # What is left was quoted for a shell or for TOML: the sibling's name is unique, whatever stands around it.
    number = slot.rpartition(b"-")[2]
    pattern = rb"/\.envdoctor-([^/\n]*?)-" + number + rb"(?![\w.-])"
    return re.sub(pattern, lambda match: b"/" + match[1], text)


def replace_bytes(file: Path, data: bytes) -> None:
    """Give a file new contents as a new inode with the old mode, times and owner."""
    fresh = file.with_name(f".envdoctor-new-{os.getpid()}")
    copy_file(file, fresh)  # mode, owner, attributes
    os.chmod(fresh, fresh.stat().st_mode | 0o200)
    with open(fresh, "wb") as writer:
        writer.write(data)
    os.chmod(fresh, file.stat().st_mode)
    fresh.replace(file)


def _update_records(files: Iterable[Path], libraries: Sequence[Path]) -> None:
    """Write the new sizes and hashes of corrected files into the RECORDs that list them."""
    changed = {os.path.normpath(file) for file in files}
    names = {os.path.basename(file) for file in changed}  # few rows need a longer look
    for one in scan(libraries):
        rows, library = one.record(), one.library
        stale = {
            number: path
            for number, row in enumerate(rows)
            if len(row) == 3
            and row[1]
            and row[0].rpartition("/")[2] in names
            and (path := join(library, row[0])) in changed
        }
        if stale:
            corrected = [_current(stale[number], row) if number in stale else row for number, row in enumerate(rows)]
            out = io.StringIO(newline="")
            csv.writer(out, lineterminator="\n").writerows(corrected)
            replace_bytes(one.info / "RECORD", out.getvalue().encode("utf-8", errors="surrogateescape"))


def _current(path: str, row: Sequence[str]) -> Sequence[str]:
    """The row with the hash and the size that its file has now."""
    data = Path(path).read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return (row[0], f"sha256={digest}", str(len(data)))
