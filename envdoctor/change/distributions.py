"""The distributions in a folder of packages: what lies there, who owns which file, and what goes when one goes.

`importlib.metadata` is not used: it hides a second ``.dist-info`` of the same name and answers None for names of
damaged ones, and both are exactly what a repair has to remove. Paths of files are texts: there are 40,000 of them in an
environment with CUDA.
"""

from __future__ import annotations

import contextlib
import csv
import os
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """One ``.dist-info`` or ``.egg-info``; ``name`` is normalised."""

    name: str
    version: str
    info: Path

    @property
    def library(self) -> str:
        return os.fspath(self.info.parent)

    def files(self) -> tuple[str, ...] | None:
        """Absolute paths of its files as its own list names them; None: it has no readable list."""
        if self.info.suffix == ".egg-info":
            rows = _lines(self.info / "installed-files.txt")
            base = os.fspath(self.info)
        else:
            rows = [row[0] for row in self.record() if row]
            base = self.library
        below = f"{base}/"
        return (
            tuple(  # `join` by itself for those few that need it: an environment has a hundred thousand rows
                [below + row if _is_plain(row) else join(base, row) for row in rows if row and "\0" not in row]
            )
            or None
        )

    def record(self) -> Sequence[Sequence[str]]:
        """The rows of RECORD; none when it cannot be read.

        One change reads it of the environment and again, under another name, of the clone: it is taken apart once.
        """
        try:
            with open(self.info / "RECORD", encoding="utf-8", errors="surrogateescape", newline="") as file:
                status = os.fstat(file.fileno())
                key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
                rows = _READ.get(key)
                if rows is None:
                    rows = tuple(csv.reader(file))
                    with _KEEPING:
                        if len(_READ) >= _MOST:
                            _READ.clear()
                        _READ[key] = rows
                return rows
        except (OSError, csv.Error):
            return ()


_READ: dict[tuple[int, int, int, int], tuple[list[str], ...]] = {}
_KEEPING = threading.Lock()
_MOST = 1_000  # of two states with 500 packages each


def forget_records() -> None:
    """Those of an earlier change: a server makes many."""
    with _KEEPING:
        _READ.clear()


def join(base: str, row: str) -> str:
    """The path that a row of a RECORD names, without the normalising that takes longest and few need."""
    path = f"{base}/{row}" if not row.startswith("/") else row
    return os.path.normpath(path) if "./" in path or "//" in path else path


def _is_plain(row: str) -> bool:
    return "./" not in row and "//" not in row and row[0] != "/"


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []


def scan(libraries: Iterable[Path]) -> tuple[Installed, ...]:
    """Every distribution of these folders, duplicates and damaged ones included."""
    return tuple(found for library in libraries for found in _scan(library))


def _scan(library: Path) -> Iterator[Installed]:
    for entry in sorted(os.listdir(library)):
        stem, dot, suffix = entry.rpartition(".")
        if not dot or suffix not in ("dist-info", "egg-info"):
            continue
        info = library / entry
        name, _, version = stem.partition("-")
        headers = _headers(info if info.is_file() else info / ("METADATA" if suffix == "dist-info" else "PKG-INFO"))
        yield Installed(
            name=canonicalize_name(headers.get("name", name)), version=headers.get("version", version), info=info
        )


def _headers(metadata: Path) -> dict[str, str]:
    headers: dict[str, str] = {}
    with contextlib.suppress(OSError), open(metadata, encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.strip() or len(headers) == 2:
                break
            key, colon, value = line.partition(":")
            if colon and key.lower() in ("name", "version"):
                headers.setdefault(key.lower(), value.strip())
    return headers


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """What a clone leaves out, as paths relative to the environment."""

    files: frozenset[str]
    folders: frozenset[str]  # with all that is in them

    def __contains__(self, path: object) -> bool:
        if path in self.folders or path in self.files:
            return True
        if "__pycache__/" not in (text := str(path)):
            return False
        folder, compiled, name = text.rpartition("__pycache__/")
        return bool(compiled) and f"{folder}{name.partition('.')[0]}.py" in self.files

    def covers(self, path: str) -> bool:
        """Whether a path lies in what goes."""
        while path:
            if path in self:
                return True
            path = path.rpartition("/")[0]
        return False

    def emptied(self) -> list[str]:
        """Folders that may have nothing left in them, inner ones first; never those at the top."""
        above = _folders(f"/{file}" for file in self.files)
        return sorted((folder[1:] for folder in above if "/" in folder[1:]), key=len, reverse=True)


def files_of(names: Iterable[str], installed: Sequence[Installed], libraries: Sequence[Path], root: Path) -> Going:
    """Everything that belongs to the distributions ``names`` of the environment ``root``, and nothing else.

    Theirs are the files of their RECORD with the bytecode beside them, all of their ``.dist-info``, whatever an
    interrupted pip left of any (``~ame``), and folders in which no other distribution owns a file: there, what no
    RECORD lists is the junk of an interrupted installation. Without a RECORD the folders named in ``top_level.txt``
    (or by the distribution) are taken, where no other distribution has files.
    """
    tops = tuple(os.fspath(library) for library in libraries)
    leaving = set(names) & {one.name for one in installed}
    files: set[str] = set()
    folders = {f"{top}/{entry}" for top in tops for entry in os.listdir(top) if entry.startswith("~")}
    others: set[str] = set()
    # A neighbour without RECORD may own files below a namespace folder; only regular packages are taken whole then.
    unknown_neighbour = False
    for one in installed if leaving else ():
        if one.name not in leaving:
            owned = one.files()
            unknown_neighbour = unknown_neighbour or owned is None
            others.update(owned or ())
    shared = _folders(others) | set(tops)
    inside = _Inside(os.fspath(root))
    for one in installed:
        if one.name not in leaving:
            continue
        own = {file for file in one.files() or _guess(one) if file not in others and file in inside}
        files |= own
        folders.add(os.fspath(one.info))
        for folder in _folders(own):
            if folder in shared or not folder.startswith(tuple(top + "/" for top in tops)):
                continue
            if not unknown_neighbour or os.path.exists(f"{folder}/__init__.py"):
                folders.add(folder)
    prefix = len(os.fspath(root)) + 1
    return Going(
        files=frozenset(file[prefix:] for file in files), folders=frozenset(folder[prefix:] for folder in folders)
    )


class _Inside:
    """Whether a path that a RECORD names lies in the clone, also when a folder on the way is a link out of it."""

    def __init__(self, root: str) -> None:
        self._root = root + "/"
        self._real = os.path.realpath(root) + "/"
        self._known: dict[str, str | None] = {root: self._real}  # folder -> its real path, None outside of the root

    def __contains__(self, file: str) -> bool:
        return self._place(file.rpartition("/")[0]) is not None

    def _place(self, folder: str) -> str | None:
        if folder not in self._known:
            self._known[folder] = self._look(folder) if folder.startswith(self._root) else None
        return self._known[folder]

    def _look(self, folder: str) -> str | None:
        above, _, name = folder.rpartition("/")
        place = self._place(above)
        if place is not None and not os.path.islink(folder):  # most: no other step of the way is looked at again
            return f"{place}{name}/"
        real = os.path.realpath(folder) + "/"
        return real if real.startswith(self._real) else None


def _guess(one: Installed) -> Iterator[str]:
    """What a distribution without RECORD most likely put beside its metadata."""
    for top in _lines(one.info / "top_level.txt") or [one.name.replace("-", "_")]:
        if re.fullmatch(r"\w+", top):
            yield f"{one.library}/{top}.py"
            if os.path.exists(f"{one.library}/{top}/__init__.py"):  # a namespace package belongs to nobody
                yield f"{one.library}/{top}/__init__.py"


def _folders(files: Iterable[str]) -> set[str]:
    """Every folder above these files."""
    found: set[str] = set()
    for file in files:
        folder = file.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found
