"""The distributions in a folder of packages: what lies there, who owns which file, and how one is taken out whole.

`importlib.metadata` is not used: it hides a second ``.dist-info`` of the same name and answers None for names of
damaged ones, and both are exactly what a repair has to remove.
"""

from __future__ import annotations

import contextlib
import csv
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from envdoctor.change.clone import delete_tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """One ``.dist-info`` or ``.egg-info``. ``files`` are absolute, from its RECORD; None: it has no readable one."""

    name: str  # normalised
    version: str
    info: Path
    files: tuple[Path, ...] | None


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
            name=canonicalize_name(headers.get("name", name)),
            version=headers.get("version", version),
            info=info,
            files=_record(info, library) if suffix == "dist-info" else _installed_files(info),
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


def _record(info: Path, library: Path) -> tuple[Path, ...] | None:
    """Paths that a RECORD lists, those that leave the environment's own tree included; `take_out` judges them."""
    try:
        with open(info / "RECORD", encoding="utf-8", errors="replace", newline="") as file:
            rows = [row[0] for row in csv.reader(file) if row and row[0] and "\0" not in row[0]]
    except (OSError, csv.Error):
        return None
    if not rows:
        return None
    return tuple(Path(os.path.normpath(library / row)) for row in rows)


def take_out(names: Iterable[str], installed: Sequence[Installed], libraries: Sequence[Path], root: Path) -> None:
    """Remove distributions from a clone with everything that is theirs. Nothing outside ``root`` is touched.

    Theirs are the files of their RECORD with the bytecode beside them, all of their ``.dist-info``, whatever an
    interrupted pip left of them (``~ame``), and folders in which no other distribution owns a file: there, what no
    RECORD lists is the junk of an interrupted installation. Without a RECORD the folders named in ``top_level.txt``
    (or by the distribution) are taken, where no other distribution has files.
    """
    going = set(names)
    staying = [one for one in installed if one.name not in going]
    others = {file for one in staying for file in one.files or ()}
    shared = _folders(others) | set(libraries)
    # A neighbour without RECORD may own files below a namespace folder; only regular packages are taken whole then.
    unknown_neighbour = any(one.files is None for one in staying)
    for library in libraries:
        for entry in sorted(os.listdir(library)):
            if entry.startswith("~"):
                delete_tree(library / entry)
    for one in installed:
        if one.name not in going:
            continue
        files = one.files if one.files is not None else tuple(_guess(one))
        inside = _Inside(root)
        own = [file for file in files if file not in others and file in inside]
        folders = sorted(_folders(own), key=lambda path: len(path.parts))
        for folder in folders:
            if folder in shared or not _in_libraries(folder, libraries):
                continue
            if not unknown_neighbour or (folder / "__init__.py").exists() or folder == one.info:
                delete_tree(folder)
        for file in own:
            _unlink(file)
        for folder in reversed(folders):
            if folder not in libraries and folder.parent != root and folder.parent.is_relative_to(root):
                with contextlib.suppress(OSError):  # not empty, or gone already
                    folder.rmdir()
        delete_tree(one.info)


class _Inside:
    """Whether a path that a RECORD names lies in the clone, also when a folder on the way is a link out of it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._real = Path(os.path.realpath(root))
        self._known: dict[Path, bool] = {}

    def __contains__(self, file: Path) -> bool:
        folder = file.parent
        if folder not in self._known:
            real = Path(os.path.realpath(folder))
            self._known[folder] = folder.is_relative_to(self._root) and real.is_relative_to(self._real)
        return self._known[folder]


def _guess(one: Installed) -> Iterator[Path]:
    """What a distribution without RECORD most likely put beside its metadata."""
    try:
        tops = (one.info / "top_level.txt").read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        tops = [one.name.replace("-", "_")]
    library = one.info.parent
    for top in tops:
        if not re.fullmatch(r"\w+", top):
            continue
        yield library / f"{top}.py"
        if (library / top / "__init__.py").exists():  # a namespace package belongs to nobody
            yield library / top / "__init__.py"


def _installed_files(info: Path) -> tuple[Path, ...] | None:
    """The list that `setup.py install` left in an ``.egg-info`` folder; relative to that folder."""
    try:
        lines = (info / "installed-files.txt").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    return tuple(Path(os.path.normpath(info / line)) for line in lines if line and "\0" not in line) or None


def _folders(files: Iterable[Path]) -> set[Path]:
    """Every folder above these files."""
    found: set[Path] = set()
    for file in files:
        for parent in file.parents:
            if parent in found:
                break
            found.add(parent)
    return found


def _in_libraries(path: Path, libraries: Sequence[Path]) -> bool:
    return any(path.is_relative_to(library) for library in libraries)


def _unlink(file: Path) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
        file.unlink()
    if file.suffix == ".py":
        cache = file.parent / "__pycache__"
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for name in os.listdir(cache):
                if name.startswith(file.stem + "."):
                    (cache / name).unlink(missing_ok=True)
