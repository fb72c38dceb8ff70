"""What lies in an environment, told by names, sizes and times: how one notices what others do to it.

Bytecode does not count, every start of Python may write it; nor do envdoctor's own marks. Contents are not read: an
edit that keeps the size and sets the old time again is not seen in a file of several names.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Literal, NamedTuple

from envdoctor.change.journal import MARK
from envdoctor.change.places import KEPT_PREFIX

Kind = Literal["file", "link", "dir"]

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_FOLDER = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)  # it has gone, or has become something else

# In a state that lies beside its environment, so that git does not take it for somebody's sources. A state's own
# .gitignore is never replaced.
HIDDEN = "# a kept state of an environment; `envdoctor undo` takes this file out again\n*\n"


class Seen(NamedTuple):
    """One entry; ``changed`` is its time of change, which nobody can set. A recorded one has no ``inode`` (0)."""

    kind: Kind
    size: int
    modified: int  # nanoseconds
    goal: str = ""  # of a link
    inode: int = 0
    changed: int = 0

    def agrees(self, other: Seen) -> bool:
        """Whether nobody has touched it, as far as sizes and times tell."""
        if self.kind != other.kind or self.goal != other.goal:
            return False
        if self.kind != "file":
            return True
        if (self.size, self.modified) != (other.size, other.modified):
            return False
        # The time of change says nothing here: a further name, the clone's or an installer's, changes it as well.
        return self.inode == other.inode or not (self.inode and other.inode)


Tree = Mapping[str, Seen]
_NOTHING: Tree = {}


class TreeDifference(NamedTuple):
    """Relative paths, in order."""

    new: tuple[str, ...]
    altered: tuple[str, ...]
    gone: tuple[str, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        return (*self.new, *self.altered, *self.gone)


def walk(root: Path, leave_out: Set[str] = frozenset(), shared: Tree = _NOTHING) -> dict[str, Seen]:
    """Every entry below ``root`` but those named ``leave_out`` at its top. What goes meanwhile is not there.

    40,000 files take 0.2 s, most of it in the kernel: a folder is opened once, and its files are asked for beside it,
    without the way to it. A file that is still the one in ``shared``, by its inode, is not asked for at all.
    Raises OSError for a folder that cannot be read.
    """
    found: dict[str, Seen] = {}
    stack = [""]
    folder, make = Seen("dir", 0, 0), tuple.__new__
    while stack:
        where = stack.pop()
        try:
            descriptor = os.open(f"{root}/{where}", _FOLDER | (os.O_NOFOLLOW if where else 0))
        except OSError as error:
            if error.errno not in _NO_FOLDER:
                raise
            continue
        beginning = f"{where}/" if where else ""
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    name = entry.name
                    if name == "__pycache__" or (not where and (name in leave_out or _ours(root, name))):
                        continue
                    before = shared.get(beginning + name)
                    if before is not None and before.inode == entry.inode():
                        found[beginning + name] = before
                        continue
                    try:
                        if entry.is_file(follow_symlinks=False):
                            status = entry.stat(follow_symlinks=False)
                            found[beginning + name] = make(
                                Seen,
                                ("file", status.st_size, status.st_mtime_ns, "", status.st_ino, status.st_ctime_ns),
                            )
                        elif entry.is_dir(follow_symlinks=False):
                            found[beginning + name] = folder
                            stack.append(beginning + name)
                        elif entry.is_symlink():  # sockets, pipes and devices are never cloned
                            found[beginning + name] = Seen("link", 0, 0, os.readlink(name, dir_fd=descriptor))
                    except FileNotFoundError:
                        continue
        finally:
            os.close(descriptor)
    return found


def shared_files(one: Tree, other: Tree) -> dict[str, Seen]:
    """Files that are the same ones in two states, by name and inode: what is written into one of them is in both.

    While the other state has it, its inode is nobody else's. Without what tells of packages, where a write has to be
    noticed whoever has it.
    """
    return {
        path: seen
        for path, seen in one.items()
        if seen.kind == "file" and path in other and other[path].inode == seen.inode and not of_package(path)
    }


def of_package(path: str) -> bool:
    """Whether it tells of a package that was installed or removed."""
    return "-info" in path and any(part.endswith((".dist-info", ".egg-info")) for part in path.split("/"))


def inodes(root: Path) -> frozenset[int]:
    """Those of every entry below ``root`` but bytecode. Nothing is asked of the files themselves: a fourth of a walk's
    time. Raises OSError for a folder that cannot be read."""
    found: list[int] = []
    stack = [os.fspath(root)]
    while stack:
        with os.scandir(stack.pop()) as entries:
            for entry in entries:
                if entry.name == "__pycache__":
                    continue
                found.append(entry.inode())
                if entry.is_dir(follow_symlinks=False):
                    stack.append(entry.path)
    return frozenset(found)


def difference(before: Tree, after: Tree) -> TreeDifference:
    """What was done between two looks."""
    if before == after:
        return TreeDifference((), (), ())
    both = ((path, before[path], seen) for path, seen in after.items() if path in before)
    return TreeDifference(
        new=tuple(sorted(after.keys() - before.keys())),
        altered=tuple(sorted(path for path, old, new in both if old != new and not old.agrees(new))),
        gone=tuple(sorted(before.keys() - after.keys())),
    )


def abbreviate(paths: tuple[str, ...], most: int = 5) -> str:
    """Some of these paths, the outermost of each branch only, and how many more there are."""
    tops = tuple(_outermost(paths))
    more = f" and {len(tops) - most} more" if len(tops) > most else ""
    return ", ".join(tops[:most]) + more


def _outermost(paths: tuple[str, ...]) -> Iterator[str]:
    last = None
    for path in sorted(paths):
        if last is None or not path.startswith(last + "/"):
            yield path
            last = path


def _ours(root: Path, name: str) -> bool:
    return name == MARK or name.startswith(KEPT_PREFIX) or (name == ".gitignore" and is_hidden(root / name))


def is_hidden(path: os.PathLike[str]) -> bool:
    """Whether a ``.gitignore`` is the one that hides a kept state."""
    try:
        return os.path.getsize(path) == len(HIDDEN) and Path(path).read_text(errors="replace") == HIDDEN
    except OSError:
        return False


def hide(state: Path) -> None:
    """Keep git off a state beside its environment. Never raises: it is no reason to stop."""
    path = state / ".gitignore"
    if state.is_dir() and not os.path.lexists(path):
        try:
            path.write_text(HIDDEN)
        except OSError:
            path.unlink(missing_ok=True)


def reveal(state: Path) -> None:
    """Take out what `hide` put there."""
    if is_hidden(path := state / ".gitignore"):
        path.unlink(missing_ok=True)
