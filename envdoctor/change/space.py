"""Room: what a change takes on disk, and what there is.

What is certain is refused beforehand; what depends on the installer's cache is told, and if it does run full, it does
so in the clone.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from envdoctor.locks.stack import Locked

_BLOCK = 4096  # bytes; the block size of ext4, xfs and overlay on them
# Unpacked size of a wheel whose archive is not at hand, over its packed size: 3.1 is the median of 40 large binary
# wheels (2.3 nvidia-nvvm, 3.2 pyarrow, 3.8 torch+cpu and triton; from their zip listings, rounded up to blocks).
_UNPACKED = 3.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """``certain`` bytes are needed in any case, ``expected`` if nothing of the installation is cached. Inodes alike."""

    certain: int
    expected: int
    inodes: int


def tree(root: Path, leave_out: Iterable[str] = ()) -> tuple[int, int, int]:
    """Directories, other entries and allocated bytes below a directory. What cannot be read counts as nothing."""
    skipped = {os.path.join(root, name) for name in leave_out}
    directories = files = allocated = 0
    stack = [os.fspath(root)]
    while stack:
        directories += 1
        try:
            with os.scandir(stack.pop()) as entries:
                for entry in entries:
                    if entry.path in skipped:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        stack.append(entry.path)
                    else:
                        files += 1
                        allocated += entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError:
            continue
    return directories, files, allocated


def need(
    pins: Sequence[Locked],
    folders: Sequence[str],
    *,
    cloned: tuple[int, int, int],
    links: bool,
    cache_shared: bool,
) -> Need:
    """Room for a clone of a tree (see `tree`) and an installation of ``pins`` from ``folders`` or the network.

    ``links``: the clone can be made of hard links. ``cache_shared``: the installer's cache lies on the same file
    system, so that a cached package costs links only.
    """
    directories, files, allocated = cloned
    clone = directories * _BLOCK + (0 if links else allocated)
    sizes = [_unpacked_size(pin, folders) for pin in pins]
    entries = sum(count for _, _, count in sizes)
    return Need(
        certain=clone + (0 if cache_shared else sum(least for least, _, _ in sizes)),
        expected=clone + sum(likely for _, likely, _ in sizes),
        inodes=directories + (0 if links else files) + (0 if cache_shared else entries),
    )


def _unpacked_size(pin: Locked, folders: Sequence[str]) -> tuple[int, int, int]:
    """Least and likely bytes on disk and entries of a wheel: exact if its archive is in a local folder."""
    for folder in folders:
        path = Path(unquote(urlsplit(folder).path) if folder.startswith("file:") else folder) / pin.wheel
        try:
            with zipfile.ZipFile(path) as archive:
                members = archive.infolist()
        except (OSError, zipfile.BadZipFile):
            continue
        size = sum(-(-member.file_size // _BLOCK) * _BLOCK for member in members)
        return size, size, len(members)
    return pin.size or 0, int((pin.size or 0) * _UNPACKED), 0


def free(path: Path) -> tuple[int, int | None]:
    """Free bytes and inodes for this user on the file system of ``path``; None where inodes are not counted (btrfs)."""
    status = os.statvfs(path)
    return status.f_bavail * status.f_frsize, status.f_favail if status.f_files else None


def cache_folder(variables: Mapping[str, str]) -> Path:
    """uv's cache (its documentation, "Caching")."""
    if chosen := variables.get("UV_CACHE_DIR"):
        return Path(chosen)
    home = Path(variables.get("HOME") or os.path.expanduser("~"))
    return Path(variables.get("XDG_CACHE_HOME") or home / ".cache") / "uv"


def same_file_system(one: Path, other: Path) -> bool:
    """Whether two paths, or the nearest folders above them that exist, lie on one file system."""

    def device(path: Path) -> int:
        while not path.exists() and path != path.parent:
            path = path.parent
        return path.stat().st_dev

    return device(one) == device(other)
