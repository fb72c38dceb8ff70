"""What was in a state when envdoctor made it, or left it: held against what is there now, before anything is dropped.

One file for each state in the folder of the journal. Where it is missing nothing can be told, and that is said.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from envdoctor.change.distributions import scan
from envdoctor.change.journal import Journal
from envdoctor.change.places import Places
from envdoctor.change.tree import Seen, Tree, TreeDifference, abbreviate, difference, walk

_PREFIX, _SUFFIX = "state-", ".json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """What going back leaves behind, in words, and what it cannot bring back as it was."""

    behind: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()  # files of the state to go to that were edited in place after it was left


def record(where: Places, number: int, tree: Tree) -> None:
    """Store what is in state ``number``. Raises OSError; a record that is cut short counts as none."""
    draft(where, number, tree)
    adopt(where, number)


def draft(where: Places, number: int, tree: Tree) -> None:
    """Write down what is in state ``number``, to be its record once it is left. Raises OSError."""
    lines = {path: [seen.kind, seen.size, seen.modified, seen.goal] for path, seen in tree.items()}
    _draft(where, number).write_text(json.dumps(lines), encoding="ascii")


def adopt(where: Places, number: int) -> None:
    """Make the draft the record. Raises OSError."""
    _draft(where, number).replace(_path(where, number))


def read_inventory(where: Places, number: int) -> dict[str, Seen] | None:
    """What was in state ``number``; None where nothing (readable) was recorded."""
    try:
        data = json.loads(_path(where, number).read_text(encoding="ascii"))
        return {path: Seen(kind, int(size), int(modified), goal) for path, (kind, size, modified, goal) in data.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def forget(where: Places, journal: Journal) -> None:
    """Delete the records of states that are no more, and drafts of states that were not left."""
    known = {journal.current.number, *(state.number for state in journal.states)}
    with contextlib.suppress(OSError):
        for name in os.listdir(where.control):
            number = name.removeprefix(_PREFIX).partition(".")[0]
            of_use = name.endswith(_SUFFIX) and number.isdecimal() and int(number) in known
            if name.startswith(_PREFIX) and not of_use:
                (where.control / name).unlink()


def since(where: Places, number: int, tree: Tree) -> TreeDifference | None:
    """What was done to state ``number`` since its record; None where there is none."""
    before = read_inventory(where, number)
    return None if before is None else difference(before, tree)


def only_here(done: TreeDifference, tree: Tree, other: Path) -> tuple[str, ...]:
    """Those changed paths that the state at ``other`` does not have alike: as another name of the same file, or as a
    copy with its size and time. What is gone counts while the other state has it."""
    return tuple(
        path
        for path in done.paths
        if not (_alike(tree[path], other / path) if path in tree else not os.path.lexists(other / path))
    )


def _alike(seen: Seen, path: Path) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    if seen.kind == "file":
        return seen.inode == status.st_ino or (seen.size, seen.modified) == (status.st_size, status.st_mtime_ns)
    if seen.kind == "link":
        return path.is_symlink() and os.readlink(path) == seen.goal
    return seen.kind == "dir" and path.is_dir()


def in_words(root: Path, paths: Iterable[str], done: TreeDifference) -> tuple[str, ...]:
    """Packages first, by name and version; then what belongs to none of them."""
    left = set(paths)
    words = []
    for info in sorted(path for path in left if path.endswith((".dist-info", ".egg-info"))):
        name = os.path.basename(info).rpartition(".")[0].replace("-", " ", 1)
        words.append(f"{name} ({'installed' if info in done.new else 'removed' if info in done.gone else 'changed'})")
        left = {path for path in left if path != info and not path.startswith(info + "/")}
        left -= set(_files(root, info))
    left = {path for path in left if not (path in done.new and _empty(root / path, left, path))}
    return (*words, abbreviate(tuple(left))) if left else tuple(words)


def _files(root: Path, info: str) -> Iterator[str]:
    base = f"{root}/"
    for one in scan((root / info).parent for _ in (0,) if (root / info).is_dir()):
        if one.info == root / info:
            yield from (file.removeprefix(base) for file in one.files() or ())


def _empty(folder: Path, left: set[str], path: str) -> bool:
    """A folder of which nothing is to be told: its files belong to a package that is."""
    return folder.is_dir() and not folder.is_symlink() and not any(other.startswith(path + "/") for other in left)


def departure(where: Places, current: int, goal: int, kept: Path) -> tuple[Departure, Tree]:
    """What leaving state ``current`` for the one at ``kept`` drops, and what is in the environment now."""
    tree = walk(where.real)
    done = since(where, current, tree)
    if done is None:
        behind: tuple[str, ...] = ("whatever was done since (envdoctor has no record of this state)",)
    else:
        behind = in_words(where.real, only_here(done, tree, kept), done)
    edited = since(where, goal, walk(kept))
    return Departure(behind=behind, shared=() if edited is None else edited.paths), tree


def _path(where: Places, number: int) -> Path:
    return where.control / f"{_PREFIX}{number}{_SUFFIX}"


def _draft(where: Places, number: int) -> Path:
    return _path(where, number).with_suffix(".new")
