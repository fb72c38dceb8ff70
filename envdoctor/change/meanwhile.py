"""What others write into an environment while its next state is built: carried over, or the change is refused.

The clone is made within moments, the installation takes seconds to minutes, and programs go on writing their logs and
settings. So the environment is looked through once more right before the exchange, until a look finds nothing new, and
once right after it, for what fell between the last look and the exchange.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import time
from pathlib import Path

from envdoctor.change.clone import Cloned, copy_file
from envdoctor.change.distributions import Going
from envdoctor.change.exchange import rename_new
from envdoctor.change.tree import (
    Seen,
    Tree,
    TreeDifference,
    abbreviate,
    difference,
    of_package,
    shared_files,
    walk,
)
from envdoctor.errors import Trouble

_MOST_PATHS, _MOST_BYTES = 2000, 64 * 2**20  # carried over at once; more is not a log but somebody's work under way
_LOOKS = 40  # looks in a row that found something: then it is written to without a pause
_TICK = 20_000_000  # nanoseconds; a write so shortly before a look may not show in the file's time


class Watch:
    """Looks at the environment ``root``, from before it is cloned until after it was exchanged."""

    def __init__(self, root: Path, leave_out: frozenset[str]) -> None:
        """``leave_out``: entries in its top that stay where they are, and so are nobody's loss."""
        self._root, self._leave_out = root, leave_out
        self._started = time.time_ns()
        self.seen: Tree = walk(root, leave_out)
        self._shared: Tree = {}
        self._carried: dict[str, tuple[int, int]] = {}  # path -> inode and change time of the clone's copy

    def share(self, other: Tree) -> None:
        """From now on only look for what the state ``other`` does not have by itself, as another name of the file."""
        self._shared = shared_files(self.seen, other)

    def settle(self, slot: Path, going: Going, done: Cloned) -> bool:
        """Bring the clone up to date; whether there was anything to bring.

        Raises `Trouble` naming what cannot be carried over; nothing has changed then.
        """
        todo: list[str] = []
        for look in range(_LOOKS):
            now, found, todo = self._look(slot, done)
            self._refuse(slot, found, todo, now, going, done)
            if look == 0:
                todo += self._hidden(slot, now, done)
            for path in sorted(todo, key=lambda path: (path in now, path), reverse=True):
                if path not in now:
                    _remove(slot / path)
            for path in (path for path in sorted(todo) if path in now):
                self._carry(slot, path, now[path])
            self.seen = now
            if not todo:
                return look > 0
            self._shared = {}  # the number of a file that is gone from both may be another's by the next look
        raise Trouble(
            f"is written to without a pause: {abbreviate(tuple(todo))}",
            file=self._root,
            remedy="Stop what writes there, then run it again.",
            exit_code=3,
        )

    def altered(self, slot: Path, going: Going, done: Cloned, *, linked: bool = False) -> frozenset[str]:
        """For a change file by file, which leaves alone what it does not change: the paths that others have changed.

        ``linked``: the files that it changes have got a further name since the last look. Raises `Trouble` when the
        change itself touches a path that others have changed.
        """
        now, found, todo = self._look(slot, done, linked=linked)
        self._refuse(slot, found, todo, now, going, done, carried=False)
        return frozenset((*todo, *self._hidden(slot, now, done)))

    def late(self, left: Path, real: Path) -> tuple[str, ...]:
        """After the exchange: take over what was still written into the state that was ``left``.

        What was appended is appended, a new file is copied. Answers the paths that only the left state has.
        """
        now = walk(left, self._leave_out, self._shared)
        found = difference(self.seen, now)
        missed = [path for path in sorted(found.paths) if not self._taken_over(left, real, path, now.get(path))]
        self.seen = now
        return tuple(missed)

    def _look(self, slot: Path, done: Cloned, *, linked: bool = False) -> tuple[Tree, TreeDifference, list[str]]:
        now = walk(self._root, self._leave_out, self._shared)
        found = difference(self.seen, now)
        # Nobody else makes links of what was copied, so its time of change tells of every write.
        both = (path for path in done.copies if path in now and path in self.seen and not linked)
        rewritten = {path for path in both if now[path].changed != self.seen[path].changed}
        found = found._replace(altered=tuple(sorted({*found.altered, *rewritten})))
        return now, found, [path for path in found.paths if not _has(slot / path, now.get(path))]

    def _hidden(self, slot: Path, now: Tree, done: Cloned) -> list[str]:
        """Copied files with a write so shortly after the first look that it need not show in their times.

        Those that the change itself has written since are not among them.
        """
        first, last = self._started - _TICK, time.time_ns()
        return [
            path
            for path, made in done.copies.items()
            if path in now
            and first <= now[path].modified <= last
            and _signature(slot / path) == made
            and not _same_contents(self._root / path, slot / path)
        ]

    def _refuse(
        self,
        slot: Path,
        found: TreeDifference,
        todo: list[str],
        now: Tree,
        going: Going,
        done: Cloned,
        *,
        carried: bool = True,
    ) -> None:
        clashing = tuple(path for path in todo if self._clashes(slot, path, now, going, done))
        clashing = clashing or tuple(path for path in found.paths if of_package(path))
        if clashing:
            raise Trouble(
                f"was changed by somebody else meanwhile: {abbreviate(clashing)}",
                file=self._root,
                remedy="Run it again when that has ended.",
                exit_code=3,
            )
        size = sum(now[path].size for path in todo if path in now)
        if carried and (len(todo) > _MOST_PATHS or size > _MOST_BYTES):
            raise Trouble(
                f"much was written to it meanwhile ({len(todo)} paths, {size / 1e6:.0f} MB): {abbreviate(tuple(todo))}",
                file=self._root,
                remedy="Run it again when that has ended.",
                exit_code=3,
            )

    def _clashes(self, slot: Path, path: str, now: Tree, going: Going, done: Cloned) -> bool:
        """Whether the change touches this path as well, or it belongs to a package: neither version may be lost."""
        if of_package(path) or going.covers(path):
            return True
        before = self.seen.get(path)
        try:
            status = (slot / path).lstat()
        except OSError:
            return before is not None and path in now  # the change removed it
        if os.path.isdir(slot / path) and not os.path.islink(slot / path):
            return path in now and now[path].kind != "dir"
        if (status.st_ino, status.st_ctime_ns) in (done.copies.get(path), self._carried.get(path)):
            return False
        if before is not None and before.kind == "link" and os.path.islink(slot / path):
            return os.readlink(slot / path) not in (before.goal, done.links.get(path))
        return before is None or before.inode != status.st_ino

    def _carry(self, slot: Path, path: str, now: Seen) -> None:
        new = slot / path
        if now.kind == "dir":
            if not new.is_dir():
                _remove(new)
                new.mkdir(mode=0o700)
                with contextlib.suppress(FileNotFoundError):
                    new.chmod((self._root / path).stat().st_mode & 0o7777)
            return
        fresh = new.with_name(f".envdoctor-carried-{os.getpid()}")
        try:
            if now.kind == "link":
                goal, root = now.goal, f"{self._root}/"
                if goal.startswith(root):  # else it would lead out of the clone into the state that it replaces
                    goal = os.path.relpath(goal, (self._root / path).parent)
                fresh.symlink_to(goal)
            else:
                copy_file(self._root / path, fresh)
            if new.is_dir() and not new.is_symlink():
                new.rmdir()
            fresh.replace(new)
        except FileNotFoundError:  # it has gone again, which the next look finds
            return
        finally:
            fresh.unlink(missing_ok=True)
        status = new.lstat()
        self._carried[path] = (status.st_ino, status.st_ctime_ns)

    def _taken_over(self, left: Path, real: Path, path: str, now: Seen | None) -> bool:
        old, new, before = left / path, real / path, self.seen.get(path)
        if _has(new, now):
            return True
        try:
            if now is None:
                return False
            if now.kind == "dir":
                new.mkdir()
            elif now.kind == "file" and before is None:
                fresh = new.with_name(f".envdoctor-late-{os.getpid()}")
                copy_file(old, fresh)
                try:
                    rename_new(fresh, new)
                finally:
                    fresh.unlink(missing_ok=True)
            elif now.kind == "file" and before is not None and before.kind == "file" and now.size > before.size:
                # A file of its own in the new state, that begins as this one did at the last look.
                if new.lstat().st_nlink > 1 or before.inode != now.inode:
                    return False
                with open(old, "rb") as reader, open(new, "ab", buffering=0) as writer:
                    reader.seek(before.size)
                    writer.write(reader.read())
            else:
                return False
        except OSError:
            return False
        return True


def _has(path: Path, now: Seen | None) -> bool:
    """Whether it is so already: as another name of the same file, the same link, a folder, or not there either."""
    try:
        status = path.lstat()
    except OSError:
        return now is None
    if now is None:
        return False
    if now.kind == "file":
        return status.st_ino == now.inode
    if now.kind == "link":
        return path.is_symlink() and os.readlink(path) == now.goal
    return path.is_dir() and not path.is_symlink()


def _signature(path: Path) -> tuple[int, int] | None:
    """Inode and time of change; None where there is nothing."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_ino, status.st_ctime_ns


def _same_contents(one: Path, other: Path) -> bool:
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:  # one of them has gone: the next look tells
        return True


def _remove(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if path.is_dir() and not path.is_symlink():
            with contextlib.suppress(OSError):  # something else is in it, which stays
                path.rmdir()
        else:
            path.unlink()
