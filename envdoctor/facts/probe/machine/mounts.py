"""/proc/self/mountinfo: which file system a path is on (proc_pid_mountinfo(5))."""

from __future__ import annotations

import os
import re
from collections import namedtuple

from .reading import Root

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import List, NamedTuple, Optional, Tuple


if TYPE_CHECKING:

    class Mount(NamedTuple):
        """One mount: the part of the file system that is mounted, where, and as what."""

        root: str
        point: str
        filesystem: str
        super_options: Tuple[str, ...]

else:
    Mount = namedtuple("Mount", "root point filesystem super_options")


def read(root: Root) -> List[Mount]:
    mounts = []
    for line in (root.text("/proc/self/mountinfo", 1 << 22) or "").splitlines():
        left, _, right = line.partition(" - ")
        first, second = left.split(" "), right.split(" ")
        if len(first) < 6 or len(second) < 3:
            continue
        mounts.append(Mount(_plain(first[3]), _plain(first[4]), second[0], tuple(second[2].split(","))))
    return mounts


def mount_of(mounts: List[Mount], path: str) -> Optional[Mount]:
    """The mount that ``path`` (resolved) lies on; of mounts over one another the last one counts."""
    best = None
    for mount in mounts:
        inside = path == mount.point or path.startswith(mount.point.rstrip("/") + "/")
        if inside and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return best


def _plain(text: str) -> str:
    """The kernel writes blanks and backslashes as octal numbers, byte by byte."""
    if "\\" not in text:
        return text
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def existing_parent(path: str) -> str:
    """``path``, or the nearest directory above it that exists: where it would be made."""
    while not os.path.isdir(path):
        above = os.path.dirname(path)
        if above == path:
            break
        path = above
    return path
