"""Reading TOML and JSON documents that may be broken, huge or hostile: one clear error, with file and line."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import sys
from pathlib import Path
from typing import Any

from envdoctor.errors import Trouble

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SIZE_LIMIT = 4 * 1024 * 1024  # bytes; the largest bundled lock has well under 1 MiB
KEY_PARTS = 64  # a dotted key of 40 kB takes tomllib seconds (quadratic): refuse long ones before parsing


def read_text(path: Path, *, limit: int = SIZE_LIMIT) -> str:
    """The file as UTF-8 text. Raises `Trouble` naming the file when it is absent, too large or not text."""
    try:
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise Trouble(error.strerror or str(error), file=path, remedy="Check the path and its permissions.") from error
    if len(data) > limit:
        raise Trouble(f"larger than {limit // (1024 * 1024)} MiB", file=path, remedy="This is not a file of ours.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise Trouble("not UTF-8 text", file=path, where=f"line {line}", remedy="Save the file as UTF-8.") from error


def make_folder(path: Path) -> None:
    """Make a folder that files can be put into. Raises `Trouble` where that cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        problem = "" if os.access(path, os.W_OK | os.X_OK) else "cannot be written"
    except OSError as error:
        problem = error.strerror or str(error)
    if problem:
        raise Trouble(problem, file=path, remedy="Name a folder that can be made and written.", exit_code=2)


def write_whole(path: Path, text: str, *, mode: int | None = None, through: bool = True) -> None:
    """Write a text file whole or not at all: synced beside its place, then renamed into it, and the folder synced too.

    A power cut leaves the old file or the new one. ``mode``: its permissions (default: those of the file it replaces,
    else what the umask leaves). A link is replaced without ``through``; one that lies where the draft is made is never
    followed.
    Drafts of writers that were killed go with it. Raises `Trouble` naming the file.
    """
    place = path.resolve() if through else path.absolute()
    fresh = place.with_name(f".{place.name}.{os.urandom(8).hex()}.partial")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600)
        try:
            with open(descriptor, "w", encoding="utf-8") as stream:
                _lock(descriptor)
                stream.write(text)
                stream.flush()
                os.fsync(descriptor)
                if mode is not None or place.exists():
                    fresh.chmod(mode if mode is not None else place.stat().st_mode & 0o777)
                if sys.platform != "win32":  # where no open file can be renamed; here its lock is held until it is
                    fresh.replace(place)
            if sys.platform == "win32":
                fresh.replace(place)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
        _sync_folder(place.parent)
    except OSError as error:
        raise Trouble(error.strerror or str(error), file=path, remedy="Choose a folder that can be written.") from error
    _sweep(place)


def _lock(descriptor: int) -> bool:
    """Say that somebody is writing it; False where another is."""
    try:
        import fcntl
    except ImportError:  # Windows, where nobody removes the drafts of others
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sweep(place: Path) -> None:
    """Remove the drafts of this file whose writers were killed: this user's, and nobody holds their lock."""
    draft = re.compile(rf"\.{re.escape(place.name)}\.[0-9a-f]{{16}}\.partial")
    with contextlib.suppress(OSError), os.scandir(place.parent) as entries:
        for entry in entries:
            if draft.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                _sweep_one(entry.path)


def _sweep_one(path: str) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            found = os.fstat(descriptor)
            if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and _lock(descriptor):
                os.unlink(path)
        finally:
            os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """So that the name is on the disk too; where folders cannot be synced (some network disks), the file still is."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def read_toml(path: Path) -> dict[str, Any]:
    """Parse a TOML file. Raises `Trouble` with the line of the first mistake."""
    return parse_toml(read_text(path), path)


def parse_toml(text: str, path: Path, *, first_line: int = 1) -> dict[str, Any]:
    """Parse TOML that stands in ``path`` from ``first_line`` on. Raises `Trouble` with the line of a mistake."""
    for number, line in enumerate(text.splitlines(), first_line):
        if line.count(".") >= KEY_PARTS and _longest_key(line) > KEY_PARTS:
            raise Trouble(
                f"a key of more than {KEY_PARTS} parts",
                file=path,
                where=f"line {number}",
                remedy="This is not a file of ours.",
            )
    try:
        data: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at (?:line (\d+), (column \d+)|(end of document))\)", str(error))
        if place is None:
            where = ""
        elif place[3]:
            where = f"line {first_line + text.rstrip().count(chr(10))}, {place[3]}"
        else:
            where = f"line {int(place[1]) + first_line - 1}, {place[2]}"
        problem = str(error).partition(" (at ")[0]
        raise Trouble(
            f"not valid TOML: {problem}", file=path, where=where, remedy="Correct that line, or restore the file."
        ) from error
    except (RecursionError, ValueError) as error:
        problem = f"not readable as TOML ({type(error).__name__})"
        raise Trouble(problem, file=path, remedy="Restore the file.") from error
    return data


def _longest_key(line: str) -> int:
    """Parts of the longest dotted key on a line, inline tables included; what is inside quotes is one part."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'', "q", line)
    keys = re.findall(r"[\w.\- \t]+", bare.partition("#")[0])
    return max((key.count(".") + 1 for key in keys), default=0)


def read_json(path: Path, *, limit: int = SIZE_LIMIT) -> Any:
    """Parse a JSON file. Raises `Trouble` with the line of the first mistake."""
    try:
        return json.loads(read_text(path, limit=limit))
    except json.JSONDecodeError as error:
        raise Trouble(
            f"not valid JSON: {error.msg}",
            file=path,
            where=f"line {error.lineno}, column {error.colno}",
            remedy="The file is truncated or was edited; write it again.",
        ) from error
    except (RecursionError, ValueError) as error:
        raise Trouble(f"not readable as JSON ({type(error).__name__})", file=path, remedy="Write it again.") from error


def line_of(path: Path, where: str) -> str:
    """``where`` with the line on which its last key stands, as well as a plain text search can tell.

    ``packages[3].wheels[0].hashes`` counts the table headers ``[[packages]]`` first, then looks for the key.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return where
    start = 0
    table = re.match(r"([\w-]+)\[(\d+)\]", where)
    if table:
        headers = [n for n, line in enumerate(lines) if line.strip() == f"[[{table[1]}]]"]
        if int(table[2]) < len(headers):
            start = headers[int(table[2])]
    keys = re.findall(r"[\w-]+", re.sub(r"\[\d+\]", "", where))
    for key in reversed(keys):
        for number in range(start, len(lines)):
            if re.match(rf"\s*(\[+)?\"?{re.escape(key)}\"?\s*[=\].]", lines[number]):
                return f"line {number + 1}, {where}"
    return f"line {start + 1}, {where}" if table else where
