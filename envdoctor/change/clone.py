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
_FICLONE = 0x40049409  # linux/fs.h
_NO_LINK = {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EACCES}  # link(2): copy instead


@dataclass(slots=True)
class Cloned:
    """What was done: numbers of directories and hard links, and what cannot be cloned."""

    directories: int = 0
    linked: int = 0
    left_out: list[str] = field(default_factory=list)
    copies: dict[str, tuple[int, int]] = field(default_factory=dict)  # path -> inode and change time of the copy
    links: dict[str, str] = field(default_factory=dict)  # path -> goal of a symbolic link that was made relative


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    roots: tuple[str, ...]  # the source, under each of its names
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

    ``leave_out`` says of relative paths whether they stay behind; sockets, pipes and devices always do.
    ``links`` False copies everything. ``known_as`` is another path by which the environment's own links may name it.
    """
    run = _Run(roots=(os.fspath(source), os.fspath(known_as or source)), links=links, done=Cloned())
    _directory(os.fspath(source), os.fspath(target), "", run, leave_out)
    return run.done


# Paths are texts from here on: an environment with CUDA has 40,000 files, and a pathlib object costs more than a link.
def _directory(source: str, target: str, where: str, run: _Run, leave_out: Callable[[str], bool]) -> None:
    os.mkdir(target, 0o700)
    run.done.directories += 1
    beginning = f"{where}/" if where else ""
    with os.scandir(source) as entries:
        for entry in entries:
            path = beginning + entry.name
            if leave_out(path):
                continue
            new = f"{target}/{entry.name}"
            if entry.is_file(follow_symlinks=False):  # nearly all
                _file(entry, new, path, run)
            elif entry.is_dir(follow_symlinks=False):
                _directory(entry.path, new, path, run, leave_out)
            elif entry.is_symlink():
                _link(entry.path, new, path, run)
            else:
                run.done.left_out.append(path)
    _like(source, target)


def _link(old: str, new: str, path: str, run: _Run) -> None:
    """Recreate a symbolic link. An absolute one into the environment itself becomes relative.

    It would otherwise lead out of the clone into the state that the clone is going to replace.
    """
    goal = os.readlink(old)
    for root in run.roots:
        if goal.startswith(root + "/"):
            goal = os.path.relpath(goal, os.path.join(root, os.path.dirname(path)))
            run.done.links[path] = goal
    os.symlink(goal, new)
    _own(old, new)


def _file(entry: os.DirEntry[str], new: str, path: str, run: _Run) -> None:
    if run.links and not _copy_entry(path, entry):
        try:
            os.link(entry.path, new, follow_symlinks=False)
            run.done.linked += 1
            return
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
    copy_file(entry.path, new)
    copy = os.lstat(new)
    run.done.copies[path] = (copy.st_ino, copy.st_ctime_ns)


def _copy_entry(path: str, entry: os.DirEntry[str]) -> bool:
    top, below, _ = path.partition("/")
    small = not below or top in _COPIED_FOLDERS or path.endswith(_COPIED_SUFFIXES)
    return small and entry.stat(follow_symlinks=False).st_size <= _COPY_LIMIT


def reflink(old: str | Path, new: str | Path) -> None:
    """Copy a file's contents by sharing its blocks (ioctl_ficlone(2): btrfs, xfs). Raises OSError where that is not."""
    import fcntl  # not on Windows

    with open(old, "rb") as reader, open(new, "xb") as writer:
        fcntl.ioctl(writer.fileno(), _FICLONE, reader.fileno())


def copy_file(old: str | Path, new: str | Path) -> None:
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


def _like(source: str, target: str) -> None:
    """Owner, mode, times and extended attributes of a folder: what `shutil.copystat` does in twice as many calls."""
    status = os.stat(source, follow_symlinks=False)
    if (status.st_uid, status.st_gid) != (os.getuid(), os.getgid()):
        with contextlib.suppress(PermissionError):  # only root may give files away
            os.chown(target, status.st_uid, status.st_gid, follow_symlinks=False)
    with contextlib.suppress(OSError):
        if os.listxattr(source, follow_symlinks=False):
            shutil.copystat(source, target, follow_symlinks=False)
            return
    os.chmod(target, stat.S_IMODE(status.st_mode))
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def _own(old: str | Path, new: str | Path) -> None:
    status = os.lstat(old)
    if (status.st_uid, status.st_gid) != (os.getuid(), os.getgid()):
        with contextlib.suppress(PermissionError):  # only root may give files away
            os.chown(new, status.st_uid, status.st_gid, follow_symlinks=False)


def delete_tree(path: str | Path) -> None:
    """Delete a directory and all below it, also where a folder was made read-only. A missing one is no error.

    Modes of files are left alone: a file may be a hard link that another state shares.
    """
    if os.path.islink(path) or not os.path.isdir(path):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        os.chmod(path, stat.S_IRWXU)
    with os.scandir(path) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                delete_tree(entry.path)
            else:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(entry.path)
    with contextlib.suppress(FileNotFoundError):
        os.rmdir(path)
