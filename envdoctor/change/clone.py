"""A clone of an environment: hard links for what is only ever replaced as a whole, copies for what is edited in place.

Installers replace files by new ones (uv: link or rename over; pip: unlink, then write), so a hard link keeps the old
text for the old state. Files that are opened and rewritten by somebody (scripts, ``.pth`` lines, ``pyvenv.cfg``,
conda's history, lock files) become files of their own.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

# Folders (relative to the environment) whose files are copied: scripts and settings, small and edited in place.
_COPIED_FOLDERS = ("bin", "etc", "conda-meta", "Scripts")
_COPIED_SUFFIXES = (".pth", ".egg-link", ".cfg", ".lock", ".ini", ".conf")
_COPY_LIMIT = 256 * 1024  # bytes; a larger file in bin/ is a program, which nobody edits
_NO_LINK = {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EACCES}  # link(2): copy instead


@dataclass(slots=True)
class Cloned:
    """What was done: numbers of directories and hard links, bytes copied, and what cannot be cloned."""

    directories: int = 0
    linked: int = 0
    bytes_copied: int = 0
    left_out: list[str] = field(default_factory=list)
    copies: dict[str, tuple[int, int]] = field(default_factory=dict)  # path -> inode and change time of the copy
    links: dict[str, str] = field(default_factory=dict)  # path -> goal of a symbolic link that was made relative


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    roots: tuple[Path, ...]  # the source, under each of its names
    links: bool
    done: Cloned


def clone(
    source: Path,
    target: Path,
    *,
    leave_out: Callable[[str], bool] = lambda _: False,
    links: bool = True,
    known_as: Path | None = None,
) -> Cloned:
    """Clone the directory ``source`` as ``target``, which must not exist. Raises OSError; ``target`` is then partial.

    ``leave_out`` says of entries of the top directory whether they stay behind; sockets, pipes and devices always do.
    ``links`` False copies everything. ``known_as`` is another path by which the environment's own links may name it.
    """
    run = _Run(roots=(source, known_as or source), links=links, done=Cloned())
    _directory(source, target, "", run, leave_out)
    return run.done


def _directory(source: Path, target: Path, where: str, run: _Run, leave_out: Callable[[str], bool]) -> None:
    os.mkdir(target, 0o700)
    run.done.directories += 1
    with os.scandir(source) as entries:
        for entry in entries:
            path = os.path.join(where, entry.name)
            if not where and leave_out(entry.name):
                continue
            new = target / entry.name
            if entry.is_symlink():
                _link(Path(entry.path), new, path, run)
            elif entry.is_dir():
                _directory(Path(entry.path), new, path, run, leave_out)
            elif entry.is_file():
                _file(entry, new, path, run)
            else:
                run.done.left_out.append(path)
    _own(source, target)
    shutil.copystat(source, target, follow_symlinks=False)


def _link(old: Path, new: Path, path: str, run: _Run) -> None:
    """Recreate a symbolic link. An absolute one into the environment itself becomes relative.

    It would otherwise lead out of the clone into the state that the clone is going to replace.
    """
    goal = os.readlink(old)
    for root in run.roots:
        if os.path.isabs(goal) and Path(goal).is_relative_to(root):
            goal = os.path.relpath(goal, root / os.path.dirname(path))
            run.done.links[path] = goal
    os.symlink(goal, new)
    _own(old, new)


def _file(entry: os.DirEntry[str], new: Path, path: str, run: _Run) -> None:
    status = entry.stat(follow_symlinks=False)
    if run.links and not _copied(path, status):
        try:
            os.link(entry.path, new, follow_symlinks=False)
            run.done.linked += 1
            return
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
    copy_file(Path(entry.path), new)
    copy = new.lstat()
    run.done.copies[path] = (copy.st_ino, copy.st_ctime_ns)
    run.done.bytes_copied += status.st_size


def _copied(path: str, status: os.stat_result) -> bool:
    if status.st_size > _COPY_LIMIT:
        return False
    top, below, _ = path.partition("/")
    return not below or top in _COPIED_FOLDERS or path.endswith(_COPIED_SUFFIXES)


def copy_file(old: Path, new: Path) -> None:
    """Copy a regular file with mode, times, owner and extended attributes; shares blocks where the file system can."""
    with open(old, "rb") as reader, open(new, "xb") as writer:
        try:
            while os.copy_file_range(reader.fileno(), writer.fileno(), 1 << 30):
                pass
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF):
                raise
            reader.seek(0)
            writer.seek(0)
            writer.truncate()
            shutil.copyfileobj(reader, writer, 1 << 20)
    _own(old, new)
    shutil.copystat(old, new, follow_symlinks=False)


def _own(old: Path, new: Path) -> None:
    status = old.lstat()
    if (status.st_uid, status.st_gid) != (os.getuid(), os.getgid()):
        with contextlib.suppress(PermissionError):  # only root may give files away
            os.chown(new, status.st_uid, status.st_gid, follow_symlinks=False)


def delete_tree(path: Path) -> None:
    """Delete a directory and all below it, also where a folder was made read-only. A missing one is no error.

    Modes of files are left alone: a file may be a hard link that another state shares.
    """
    if path.is_symlink() or not path.is_dir():
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        return
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        path.chmod(stat.S_IRWXU)
    with os.scandir(path) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                delete_tree(Path(entry.path))
            else:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(entry.path)
    with contextlib.suppress(FileNotFoundError):
        path.rmdir()
