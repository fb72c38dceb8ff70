"""Limits of the control groups above this process, version 1, version 2, and both at once (hybrid).

Every group from our own up to the mount point may limit; the tightest one counts. Kubernetes sets the quota on the
pod's container group, systemd and Slurm on groups further up. Kernel documentation: admin-guide/cgroup-v2,
scheduler/sched-bwc.
"""

from __future__ import annotations

import os
import posixpath

from .mounts import Mount
from .reading import Root

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import Dict, Iterator, List, Optional, Tuple

UNLIMITED = 1 << 60  # version 1 writes a number near 2**63 where there is no limit


def read(root: Root, mounts: List[Mount]) -> Dict[str, Optional[float]]:
    """cpu_quota (CPUs), cpu_periods, cpu_throttled and memory_limit (bytes) of facts.Host.

    And ``memory_available``, in bytes: the least that any group above us may still take.
    """
    limits: Dict[str, Optional[float]] = {}
    quota = _tightest(_quotas(root, mounts))
    if quota is not None:
        limits["cpu_quota"] = round(quota[0], 3)
        counts = _counts(root.text(quota[1] + "/cpu.stat"))
        limits["cpu_periods"] = counts.get("nr_periods")
        limits["cpu_throttled"] = counts.get("nr_throttled")
    memory = _tightest(_memories(root, mounts))
    if memory is not None:
        limits["memory_limit"] = int(memory[0])
    room = _tightest(_rooms(root, mounts))
    if room is not None:
        limits["memory_available"] = int(room[0])
    return limits


def _tightest(found: Iterator[Tuple[float, str]]) -> Optional[Tuple[float, str]]:
    return min(found, default=None)


def _quotas(root: Root, mounts: List[Mount]) -> Iterator[Tuple[float, str]]:
    for folder in _folders(root, mounts, "cpu"):
        words = (root.text(folder + "/cpu.max") or "").split()
        if len(words) == 2 and words[0].isdigit() and words[1].isdigit() and int(words[1]):
            yield int(words[0]) / int(words[1]), folder
        quota, period = root.number(folder + "/cpu.cfs_quota_us"), root.number(folder + "/cpu.cfs_period_us")
        if quota and period and quota > 0 and period > 0:
            yield quota / period, folder


def _memories(root: Root, mounts: List[Mount]) -> Iterator[Tuple[float, str]]:
    for folder in _folders(root, mounts, "memory"):
        for name in ("memory.max", "memory.high", "memory.limit_in_bytes"):
            limit = root.number(folder + "/" + name)
            if limit is not None and 0 < limit < UNLIMITED:
                yield float(limit), folder


def _rooms(root: Root, mounts: List[Mount]) -> Iterator[Tuple[float, str]]:
    """Limit less usage; the pages of files count as usage, but are given up when memory is needed."""
    for limit, folder in _memories(root, mounts):
        used = root.number(folder + "/memory.current")
        prefix = ""
        if used is None:
            used, prefix = root.number(folder + "/memory.usage_in_bytes"), "total_"
        if used is not None:
            counts = _counts(root.text(folder + "/memory.stat"))
            files = sum(counts.get(prefix + name, 0) for name in ("active_file", "inactive_file"))
            yield max(0.0, limit - max(0, used - files)), folder


def _folders(root: Root, mounts: List[Mount], controller: str) -> Iterator[str]:
    """The folders of our group and all groups above it, for this controller and for version 2."""
    for line in (root.text("/proc/self/cgroup") or "").splitlines():
        parts = line.split(":", 2)
        if len(parts) != 3:
            continue
        hierarchy, controllers, path = parts
        if hierarchy == "0" and not controllers:
            fitting = [mount for mount in mounts if mount.filesystem == "cgroup2"]
        elif controller in controllers.split(","):
            fitting = [mount for mount in mounts if mount.filesystem == "cgroup" and controller in mount.super_options]
        else:
            continue
        for mount in fitting:
            yield from _upwards(mount, path)


def _upwards(mount: Mount, path: str) -> Iterator[str]:
    # In a container the mount may show only a part of the hierarchy: its root is then a prefix of our path. Where it
    # is not (a cgroup namespace, or paths with ".." above it), the mount point itself is our group.
    if mount.root != "/" and (path + "/").startswith(mount.root.rstrip("/") + "/"):
        path = path[len(mount.root.rstrip("/")) :]
    path = "/" if path.startswith("/..") else posixpath.normpath("/" + path.lstrip("/"))
    while True:
        yield mount.point + ("" if path == "/" else path)
        if path == "/":
            return
        path = os.path.dirname(path)


def _counts(text: Optional[str]) -> Dict[str, int]:
    pairs = (line.split() for line in (text or "").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
