"""What a lock must be before anything is installed from it, beyond what PEP 751 asks.

A lock that is installed is code: a wheel's files run at import, some at every start of Python. So: wheels only, bound
by sha256, named by file, no addresses, nothing outside the lock's own folder, nothing that a terminal would obey; and
no document so large or so twisted that reading it takes longer than a second.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from envdoctor.values.pattern import Pattern

if TYPE_CHECKING:
    from packaging.pylock import PackageWheel, Pylock

PACKAGES = 2_000
WHEELS = 10_000
NAME = 255  # bytes; the longest file name that Linux file systems hold
TAGS = 64  # combinations in one wheel's compressed tags; the widest wheel in use has about 20
SIZE = 64 * 2**30  # bytes; the largest torch wheel has 0.9 GB
MARKER = 8_192  # characters; the longest that uv wrote for the bundled stacks has about 400
MARKERS = 2**19  # characters of all markers together; evaluating them is most of the work that a lock can ask for
PARENTHESES = 50  # in one marker; packaging parses them recursively

# C0 without tab and newline, DEL, C1, and the characters that turn the direction of writing around.
_CONTROL = Pattern("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def unprintable(text: str) -> bool:
    """Does it hold what a terminal would obey? Most text is told to be plain without a search."""
    return not text.isprintable() and _CONTROL.search(text) is not None


def of_document(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(place, problem) for each reason not even to parse the document: sizes first, they bound all work after them."""
    packages = data.get("packages", [])
    if not isinstance(packages, list):
        return  # packaging says so
    if len(packages) > PACKAGES:
        yield "packages", f"{len(packages)} packages; more than {PACKAGES} are not a lock"
        return
    wheels = 0
    for index, package in enumerate(packages):
        if not isinstance(package, dict) or not isinstance(package.get("wheels", []), list):
            continue
        wheels += len(package.get("wheels", []))
        for number, wheel in enumerate(package.get("wheels", [])):
            if isinstance(wheel, dict):
                yield from ((f"packages[{index}].wheels[{number}].{key}", text) for key, text in _name(wheel))
    if wheels > WHEELS:
        yield "packages", f"{wheels} wheels; more than {WHEELS} are not a lock"
    yield from _texts(data)


def _name(wheel: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key in ("name", "path"):
        value = wheel.get(key)
        if not isinstance(value, str):
            continue
        name = value.rpartition("/")[2]
        if len(name.encode(errors="replace")) > NAME:
            yield key, f"a file name of more than {NAME} bytes"
        elif math.prod(part.count(".") + 1 for part in name.removesuffix(".whl").split("-")[-3:]) > TAGS:
            yield key, f"{name!r} stands for more than {TAGS} combinations of tags"


def _texts(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every text outside of [tool] must be printable: file names and versions end up in terminals."""
    todo: list[tuple[str, Any]] = [(key, value) for key, value in data.items() if key != "tool"]
    markers = 0
    while todo:
        where, value = todo.pop()
        if isinstance(value, str):
            if unprintable(value):
                yield where, f"a control character in {value!r}"
            if where.endswith(("marker", "]")):
                markers += len(value)
                if len(value) > MARKER or value.count("(") > PARENTHESES:
                    yield where, "a marker too long or too deep to be read"
        elif isinstance(value, dict):
            for key, item in value.items():
                if unprintable(key):
                    yield where, f"a control character in the key {key!r}"
                elif key != "tool":
                    todo.append((f"{where}.{key}", item))
        elif isinstance(value, list):
            todo += [(f"{where}[{index}]", item) for index, item in enumerate(value)]
    if markers > MARKERS:
        yield "packages", f"markers of {markers} characters; more than {MARKERS} are not a lock"


def of_lock(lock: Pylock) -> Iterator[tuple[str, str]]:
    """(place, problem) for each demand that a valid lock does not meet."""
    if not lock.packages:
        yield "packages", "it locks no packages"
    for index, package in enumerate(lock.packages):
        where = f"packages[{index}]"
        if package.vcs or package.directory or package.archive or package.sdist:
            yield where, f"{package.name}: only wheels may be locked; building from source runs code before any check"
        if package.version is None:
            yield where, f"{package.name}: no version"
        if package.index is not None:
            yield f"{where}.index", f"{package.name}: a lock names no index; the installer asks the user's own"
        names: set[str] = set()
        for number, wheel in enumerate(package.wheels or ()):
            place = f"{where}.wheels[{number}]"
            if wheel.filename in names:
                yield place, f"{package.name}: {wheel.filename} twice"
            names.add(wheel.filename)
            yield from ((place + suffix, f"{package.name}: {text}") for suffix, text in _of_wheel(wheel))


def _of_wheel(wheel: PackageWheel) -> Iterator[tuple[str, str]]:
    if not re.fullmatch(r"[0-9a-f]{64}", wheel.hashes.get("sha256", "")):
        yield ".hashes", "no sha256 of 64 hexadecimal digits"
    if wheel.size is not None and not 0 < wheel.size <= SIZE:
        yield ".size", f"a size of {wheel.size} bytes"
    if wheel.url is not None:
        yield ".url", "a lock names wheels by file and hash, not by address"
    if wheel.path is not None:
        yield from ((".path", text) for text in _of_path(wheel.path, wheel.filename))


def _of_path(path: str, name: str) -> Iterator[str]:
    parts = PurePosixPath(path).parts
    outside = ".." in parts or path.startswith(("/", "~")) or "\\" in path or ":" in path
    if outside or not parts:
        yield f"{path!r} leaves the lock's folder"
    elif parts[-1] != name:
        yield f"{path!r} is another file than {name!r}"
