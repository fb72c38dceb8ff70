"""Changing an environment whose folder cannot be exchanged: file by file, under a journal that can take it all back.

For environments in a lower layer of a container image, at a mount point, or in a folder that holds somebody's project
as well. A folder inside the environment, on its own file system, keeps both versions of every path that differs
(``old/`` and ``new/``, hard links where possible). `put_side` makes the environment agree with one of the two sides; it
can be repeated from any half-way point, so an interrupted change is taken back by putting the old side.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from glob import escape
from pathlib import Path

from envdoctor.change.clone import Cloned, copy_file
from envdoctor.change.exchange import flush_directory, flush_file_system, replace_text
from envdoctor.change.journal import Side
from envdoctor.change.places import KEPT_PREFIX
from envdoctor.errors import Trouble

_TEMPORARY = ".envdoctor-put"


@dataclass(frozen=True, slots=True, kw_only=True)
class SideDifference:
    """Relative path -> "file", "link" or "dir", for the paths that differ only, as they are on each side."""

    old: Mapping[str, str]
    new: Mapping[str, str]


def compare(
    environment: Path, clone: Path, done: Cloned, leave_out: frozenset[str], others: Set[str] = frozenset()
) -> SideDifference:
    """What the finished clone changes. ``done`` tells the clone's untouched copies from files that are new.

    A copy is untouched while it has the inode and the change time it was made with: neither installers nor archives can
    set the latter. What ``others`` have changed meanwhile stays as they left it.
    """
    before, after = _listing(environment, leave_out), _listing(clone, frozenset())
    old: dict[str, str] = {}
    new: dict[str, str] = {}
    for path in sorted((before.keys() | after.keys()) - others):
        one, two = before.get(path), after.get(path)
        if one is not None and two is not None and _same(environment, clone, path, one, two, done):
            continue
        if one is not None:
            old[path] = one
        if two is not None:
            new[path] = two
    return SideDifference(old=old, new=new)


def _same(environment: Path, clone: Path, path: str, one: str, two: str, done: Cloned) -> bool:
    if one != two:
        return False
    if one == "dir":
        return True
    mine, theirs = environment / path, clone / path
    if one == "link":
        return os.readlink(theirs) in (os.readlink(mine), done.links.get(path))
    status = theirs.lstat()
    if os.path.samestat(mine.lstat(), status):
        return True
    return done.copies.get(path) == (status.st_ino, status.st_ctime_ns)


def _listing(root: Path, leave_out: frozenset[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    stack = [""]
    while stack:
        where = stack.pop()
        with os.scandir(root / where) as entries:
            for entry in entries:
                path = os.path.join(where, entry.name)
                if not where and (entry.name in leave_out or entry.name.startswith(KEPT_PREFIX)):
                    continue
                if entry.is_symlink():
                    found[path] = "link"
                elif entry.is_dir():
                    found[path] = "dir"
                    stack.append(path)
                elif entry.is_file():
                    found[path] = "file"
    return found


def keep(environment: Path, clone: Path, kept: Path, difference: SideDifference) -> None:
    """Store both sides in ``kept``, on disk. Everything that takes room happens here, before the first real change."""
    kept.mkdir(mode=0o700)
    for side, root, paths in (("old", environment, difference.old), ("new", clone, difference.new)):
        base = kept / side
        base.mkdir()
        for path, kind in paths.items():
            (base / path).parent.mkdir(parents=True, exist_ok=True)
            _place(root / path, base / path, kind)
    replace_text(kept / "paths.json", json.dumps({"old": dict(difference.old), "new": dict(difference.new)}) + "\n")
    (kept / ".gitignore").write_text("*\n")
    flush_file_system(kept)


def replaced_files(environment: Path, kept: Path, side: Side) -> tuple[str, ...]:
    """Files of the present ``side`` that others have put anew since: putting the other side takes them away."""
    there = _read(kept).old if side == "old" else _read(kept).new
    return tuple(
        path
        for path, kind in there.items()
        if kind != "dir" and os.path.lexists(environment / path) and not _alike(kept / side / path, environment / path)
    )


def take_along(environment: Path, kept: Path, side: Side, paths: Iterable[str]) -> None:
    """Keep these files of ``side`` as they are now, so that the way back to it brings them back."""
    kinds = dict(_read(kept).old if side == "old" else _read(kept).new)
    for path in paths:
        temporary = (kept / side / path).with_name(_TEMPORARY)
        temporary.unlink(missing_ok=True)
        kinds[path] = "link" if (environment / path).is_symlink() else "file"
        _place(environment / path, temporary, kinds[path])
        temporary.replace(kept / side / path)
    both = _read(kept)
    sides = {"old": dict(both.old), "new": dict(both.new)} | {side: kinds}
    replace_text(kept / "paths.json", json.dumps(sides) + "\n")


def _alike(kept: Path, present: Path) -> bool:
    one, other = kept.lstat(), present.lstat()
    if kept.is_symlink() or present.is_symlink():
        return kept.is_symlink() and present.is_symlink() and os.readlink(kept) == os.readlink(present)
    return os.path.samestat(one, other) or (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)


def put_side(environment: Path, kept: Path, side: Side) -> None:
    """Make the environment agree with one side of ``kept``. Repeatable after an interruption."""
    difference = _read(kept)
    wanted, other = (difference.old, difference.new) if side == "old" else (difference.new, difference.old)
    folders = {(environment / path).parent for path in (*wanted, *other)}
    for folder in folders:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            (folder / _TEMPORARY).unlink()  # of an interrupted run
    for path, kind in sorted(other.items(), reverse=True):  # what lies in a folder comes before the folder
        if wanted.get(path) != kind:
            _remove(environment / path, kind)
    for path, kind in sorted(wanted.items()):
        source, target = kept / side / path, environment / path
        if kind == "dir":
            target.mkdir(exist_ok=True)
            shutil.copystat(source, target)
        elif not _equal(source, target, kind):
            temporary = target.with_name(_TEMPORARY)
            _place(source, temporary, kind)
            temporary.replace(target)
    _drop_compiled(environment, other.keys() | wanted.keys(), wanted)
    for folder in folders:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            flush_directory(folder)


def _drop_compiled(environment: Path, changed: Iterable[str], wanted: Mapping[str, str]) -> None:
    """Remove the bytecode that was written meanwhile for sources that are not those any more.

    Python takes bytecode for that of a source with the same size and the same second of modification, which two
    versions of a small module that were unpacked together share.
    """
    for path in changed:
        folder, name = os.path.split(path)
        stem, suffix = os.path.splitext(name)
        if suffix == ".py":
            compiled = os.path.join(folder, "__pycache__")
            for file in (environment / compiled).glob(f"{escape(stem)}.*.pyc"):
                if os.path.join(compiled, file.name) not in wanted:
                    file.unlink(missing_ok=True)


def _read(kept: Path) -> SideDifference:
    path = kept / "paths.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        sides = [{str(p): str(k) for p, k in data[side].items()} for side in ("old", "new")]
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise Trouble(
            f"cannot be read ({error})", file=path, remedy="Make the environment anew.", exit_code=3
        ) from error
    for name in (name for side in sides for name in side):
        if os.path.isabs(name) or ".." in Path(name).parts:
            raise Trouble(
                f"names a path outside: {name!r}", file=path, remedy="Make the environment anew.", exit_code=3
            )
    return SideDifference(old=sides[0], new=sides[1])


def _equal(source: Path, target: Path, kind: str) -> bool:
    try:
        status = target.lstat()
    except FileNotFoundError:
        return False
    if kind == "link":
        return target.is_symlink() and os.readlink(target) == os.readlink(source)
    return os.path.samestat(status, source.lstat())


def _place(source: Path, target: Path, kind: str) -> None:
    """Link or copy one path; a folder is made empty."""
    if kind == "dir":
        target.mkdir(exist_ok=True)
        shutil.copystat(source, target)
    elif kind == "link":
        target.symlink_to(os.readlink(source))
    else:
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError:
            target.unlink(missing_ok=True)
            copy_file(source, target)


def _remove(path: Path, kind: str) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if kind != "dir":
            path.unlink()
            return
        try:
            path.rmdir()
        except OSError:  # bytecode that was written meanwhile, or something of the user's: the former goes
            shutil.rmtree(path / "__pycache__", ignore_errors=True)
            with contextlib.suppress(OSError):
                path.rmdir()
