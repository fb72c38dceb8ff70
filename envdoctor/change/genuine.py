"""Whether what was installed is what the lock's hashes stand for: held against RECORD, and RECORD against the wheel.

uv checks a wheel's sha256 when it comes, and unpacks it into its cache; from then on it links the cached files without
looking at them again. A file that was edited in place in one environment is the cache's file too, and would be in every
environment that is made from it afterwards.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from packaging.tags import Tag, parse_tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from envdoctor.change.distributions import Installed, join, scan
from envdoctor.change.layout import Layout
from envdoctor.facts.probe.environment import hashes
from envdoctor.launch import hook
from envdoctor.locks.stack import Locked
from envdoctor.values.pattern import Pattern

# Of an environment and its makers, not of any package.
_RESERVED = Pattern(
    r"pyvenv\.cfg|\.envdoctor.*|\.gitignore|conda-meta/.*"
    r"|bin/((python|pypy)[\d.]*w?|[Aa]ctivate(\.\w+|_this\.py)?|deactivate(\.\w+)?)"
)
_CODE = (".py", ".so", ".pyd", ".pth", ".dylib", ".dll")
_NOBODY_IMPORTS = (
    "tests",
    "test",
    "docs",
    "doc",
    "examples",
    "benchmarks",
    "scripts",
)


def altered_packages(pins: Sequence[Locked], libraries: Sequence[Path], folders: Iterable[Path]) -> dict[str, str]:
    """Name of a package -> what is wrong with its files: other contents than RECORD says, or another RECORD than that
    of the locked wheel, where a folder has the file itself. Everything of it is read: 1.5 GB/s a core.
    """
    found: dict[str, str] = {}
    archives = tuple(folders)
    names = {pin.name: pin for pin in pins}
    entries: dict[str, tuple[str, str, int | None]] = {}
    owners: dict[str, Installed] = {}
    fresh = [one for one in scan(libraries) if one.name in names]
    for one in fresh:
        for file, digest, size in _rows_with_hash(one.record()):
            path = f"{one.library}/{file}"
            entries[path] = (path, digest, int(size) if size.isdecimal() else None)
            owners[path] = one
    # All at once: the threads wait for each other at the end only.
    for path, _ in hashes.differing_files(list(entries.values())):
        one = owners[path]
        found.setdefault(one.name, f"{os.path.relpath(path, one.library)} is not what RECORD says")
    for one in fresh:
        if (other := _other_than_the_wheel(one, names[one.name], archives)) is not None:
            found.setdefault(one.name, f"its RECORD has another {other} than the wheel")
    return found


def _other_than_the_wheel(one: Installed, pin: Locked, folders: Sequence[Path]) -> str | None:
    """A file of which RECORD says something else than the wheel that it was installed from, where a folder has that.

    The lock may hold several wheels of a release that would do: which was taken is told by its tags. Where it holds
    one only, no tag speaks against it.
    """
    wheels = tuple(_wheels(pin, folders))
    tags = _tags(one) if wheels and pin.also else frozenset()
    installed = {file: digest for file, digest, _ in _rows_with_hash(one.record())} if wheels else {}
    differing = [
        next((path for path, digest in rows.items() if installed.get(path, "") != digest), None)
        for wheel, rows in wheels
        if not pin.also or tags & parse_wheel_filename(wheel)[3]
    ]
    return None if None in differing else next(iter(differing), None)


def _tags(one: Installed) -> frozenset[Tag]:
    try:
        text = (one.info / "WHEEL").read_text("utf-8", errors="replace")
    except OSError:
        return frozenset()
    said = (line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("Tag:"))
    return frozenset(tag for line in said if line.count("-") == 2 for tag in parse_tag(line))


def strangers(pins: Sequence[Locked], inside: Layout, known: Iterable[int]) -> tuple[Path, ...]:
    """Files beside the fresh packages that no RECORD lists, and that are not among the inodes ``known`` before.

    An installer links whatever lies in its cache beside a wheel's own files: Python would run a ``.pth`` of these.
    """
    names, installed = {pin.name for pin in pins}, scan(inside.libraries)
    listed = {os.fspath(inside.purelib / name) for name in hook.FILES}
    tops: set[str] = set()
    for one in installed:
        if one.name in names:
            own, beginning = one.files() or (), f"{one.library}/"
            listed.update(own)
            tops.update(file.removeprefix(beginning).partition("/")[0] for file in own if file.startswith(beginning))
    before = frozenset(known)
    files = [path for library in inside.libraries for path in _files(library, tops, before) if path not in listed]
    if files:  # of another package, perhaps
        listed.update(file for one in installed if one.name not in names for file in one.files() or ())
    return tuple(Path(path) for path in files if path not in listed)


def _files(library: Path, tops: set[str], known: frozenset[int]) -> Iterator[str]:
    """Files in the top of a library and below the folders ``tops``, but bytecode and what was ``known`` before."""
    folders = []
    for entry in os.scandir(library):
        if entry.is_file(follow_symlinks=False) and entry.inode() not in known:
            yield entry.path
        elif entry.name in tops and entry.is_dir(follow_symlinks=False):
            folders.append(entry.path)
    while folders:
        for entry in os.scandir(folders.pop()):
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    folders.append(entry.path)
            elif entry.inode() not in known and not entry.is_dir():
                yield entry.path


def foreign_path(pins: Sequence[Locked], inside: Layout) -> str | None:
    """Why a fresh package may not stay: it puts a file where the environment or another package has its own."""
    names = {pin.name for pin in pins}
    installed = scan(inside.libraries)
    fresh: dict[str, tuple[str, str]] = {}  # file -> package, hash
    prefix, packages = f"{inside.prefix}/", f"{inside.purelib}/"
    for one in (one for one in installed if one.name in names):
        for file, digest in _files_with_hash(one):
            if why := _is_reserved(file, prefix, packages):
                return f"{one.name} {one.version} would put its own {why} into the environment"
            name, known = fresh.setdefault(file, (one.name, digest))
            if known != digest and name != one.name and _is_importable(file, inside):
                return _overwritten(min(name, one.name), max(name, one.name), file, inside)
    for one in (one for one in installed if one.name not in names):
        for file, digest in _files_with_hash(one):
            if file in fresh and fresh[file][1] != digest and _is_importable(file, inside):
                return _overwritten(fresh[file][0], one.name, file, inside)
    return None


def _overwritten(one: str, other: str, file: str, inside: Layout) -> str:
    return f"{one} would overwrite {os.path.relpath(file, inside.prefix)} of {other} with other contents"


def _files_with_hash(one: Installed) -> Iterator[tuple[str, str]]:
    """Files with the hash that RECORD states."""
    library = one.library
    return ((join(library, file), digest) for file, digest, _ in _rows_with_hash(one.record()))


def _rows_with_hash(record: Iterable[Sequence[str]]) -> Iterator[tuple[str, str, str]]:
    """File, hash and size of each row that states a hash."""
    return ((row[0], row[1], row[2]) for row in record if len(row) == 3 and row[1])


def _is_reserved(file: str, prefix: str, packages: str) -> str | None:
    if not file.startswith(prefix):
        return f"{file} beside it"
    path = file.removeprefix(prefix)
    if file.startswith(packages):
        return path if file.removeprefix(packages) in hook.FILES else None
    return path if _RESERVED.fullmatch(path) else None


def _is_importable(file: str, inside: Layout) -> bool:
    for library in inside.libraries:
        if file.startswith(f"{library}/"):
            top = file.removeprefix(f"{library}/").partition("/")[0]
            return file.endswith(_CODE) and top not in _NOBODY_IMPORTS
    return file.startswith(f"{inside.scripts}/")


def _wheels(pin: Locked, folders: Sequence[Path]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Each wheel in a folder that the lock has for this release: its name, and path -> hash from its own RECORD,
    without what is put elsewhere when it is installed."""
    for folder in folders:
        names = (pin.wheel, *(_others(pin, folder) if pin.also else ()))
        for name in names:
            try:
                with open(folder / name, "rb") as archive:
                    digest = hashlib.sha256()
                    while block := archive.read(1 << 20):
                        digest.update(block)
                    if digest.hexdigest() not in (pin.sha256, *pin.also):
                        continue
                    with zipfile.ZipFile(archive) as wheel:
                        record = next(
                            n for n in wheel.namelist() if n.endswith(".dist-info/RECORD") and n.count("/") == 1
                        )
                        text = wheel.read(record).decode("utf-8")
            except (OSError, zipfile.BadZipFile, StopIteration, UnicodeDecodeError):
                continue
            rows = _rows_with_hash(csv.reader(io.StringIO(text)))
            yield name, {file: digest for file, digest, _ in rows if ".data/" not in file.split("/", 1)[0] + "/"}


def _others(pin: Locked, folder: Path) -> Iterator[str]:
    """Wheels beside it of the same release, for other Pythons or systems."""
    release = "-".join(pin.wheel.split("-")[:2]) + "-"
    for name in sorted(os.listdir(folder)):
        if name.startswith(release) and name.endswith(".whl") and name != pin.wheel and _is_wheel(name):
            yield name


def _is_wheel(name: str) -> bool:
    try:
        parse_wheel_filename(name)
    except InvalidWheelFilename:
        return False
    return True
