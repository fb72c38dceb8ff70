"""Processor, memory, limits and tools of the machine or container."""

from __future__ import annotations

import os
import re
import sys

from . import cgroup
from .mounts import Mount
from .reading import Root

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Optional

FLAGS = frozenset(
    """
    avx avx2 avx512f avx512bw avx512vl avx512_bf16 avx512_fp16 avx512_vnni avx_vnni amx_bf16 amx_int8 amx_tile amx_fp16
    f16c fma sha_ni asimd asimddp asimdhp bf16 i8mm sve sve2 svebf16 svei8mm hypervisor
    """.split()
)
"""Processor features that torch's kernels, oneDNN or hashing choose by; ``hypervisor`` marks a virtual machine."""


def read(root: Root, mounts: List[Mount], environ: Mapping[str, str]) -> Dict[str, Any]:
    """A facts.Host value without its storage and tools."""
    uname = os.uname() if hasattr(os, "uname") else None
    value: Dict[str, Any] = {
        "system": uname.sysname if uname else {"win32": "Windows"}.get(sys.platform, sys.platform),
        "distribution": _distribution(root),
        "kernel": uname.release if uname else None,
        "machine": uname.machine if uname else environ.get("PROCESSOR_ARCHITECTURE"),
        "cpus": os.cpu_count(),
        "affinity": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "uid": os.geteuid() if hasattr(os, "geteuid") else None,
    }
    if sys.platform != "linux":
        return value
    value.update(_processor(root))
    value.update(_memory(root))
    value.update(_limits())
    limits = cgroup.read(root, mounts)
    free = (value.get("memory_available"), limits.pop("memory_available", None))
    value.update(limits)
    value["memory_available"] = min((size for size in free if size is not None), default=None)
    value["container"] = container(root, mounts, environ, value["kernel"] or "")
    value["governor"] = root.text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    value["clocksource"] = root.text("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    nodes = [name for name in root.names("/sys/devices/system/node") if re.match(r"node\d+$", name)]
    value["numa_nodes"] = len(nodes) or None
    pressure = re.search(r"some avg10=([\d.]+)", root.text("/proc/pressure/cpu") or "")
    value["pressure_cpu"] = float(pressure[1]) if pressure else None
    load = (root.text("/proc/loadavg") or "").split(" ")[0]
    value["load"] = float(load) if re.match(r"\d+\.\d+$", load) else None
    pages = re.search(r"\[(\w+)\]", root.text("/sys/kernel/mm/transparent_hugepage/enabled") or "")
    value["transparent_hugepages"] = pages[1] if pages else None
    return value


def _distribution(root: Root) -> Optional[str]:
    text = root.text("/etc/os-release") or root.text("/usr/lib/os-release") or ""
    found = re.search(r'(?m)^PRETTY_NAME="?([^"\n]+)', text)
    return found[1] if found else None


def _processor(root: Root) -> Dict[str, Any]:
    text = root.text("/proc/cpuinfo", 1 << 24) or ""
    model = re.search(r"(?m)^(?:model name|Model|cpu model|Processor)\s*:\s*(.+)", text)
    flags = re.search(r"(?m)^(?:flags|Features)\s*:\s*(.+)", text)
    cores = set()
    for block in text.split("\n\n"):
        fields = dict(re.findall(r"(?m)^(physical id|core id)\s*:\s*(\d+)", block))
        if len(fields) == 2:
            cores.add((fields["physical id"], fields["core id"]))
    return {
        "cpu_model": " ".join(model[1].split()) if model else None,
        "cpu_flags": sorted(FLAGS.intersection(flags[1].split())) if flags else [],
        "cores": len(cores) or None,
    }


def _memory(root: Root) -> Dict[str, Any]:
    sizes = dict(re.findall(r"(?m)^(\w+):\s+(\d+) kB", root.text("/proc/meminfo") or ""))
    names = {"memory": "MemTotal", "memory_available": "MemAvailable", "swap": "SwapTotal"}
    return {field: int(sizes[name]) * 1024 for field, name in names.items() if name in sizes}


def _limits() -> Dict[str, Any]:
    import resource

    def limit(kind: int, which: int) -> int:
        value = resource.getrlimit(kind)[which]
        return -1 if value == resource.RLIM_INFINITY else value

    return {
        "files_soft": limit(resource.RLIMIT_NOFILE, 0),
        "files_hard": limit(resource.RLIMIT_NOFILE, 1),
        "locked_memory": limit(resource.RLIMIT_MEMLOCK, 0),
        "processes_soft": limit(resource.RLIMIT_NPROC, 0),
    }


def container(root: Root, mounts: List[Mount], environ: Mapping[str, str], kernel: str) -> str:
    """What kind of container this is, as docker, podman, systemd, Kubernetes and WSL mark theirs; "" for none seen."""
    if "microsoft" in kernel.lower():
        return "wsl2" if "WSL2" in kernel or "microsoft-standard" in kernel else "wsl1"
    if environ.get("KUBERNETES_SERVICE_HOST") or root.exists("/var/run/secrets/kubernetes.io"):
        return "kubernetes"
    if root.exists("/run/.containerenv") or environ.get("container") == "podman":
        return "podman"
    if root.exists("/.dockerenv"):
        return "docker"
    groups = root.text("/proc/1/cgroup") or ""
    for word, kind in (("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("lxc", "lxc")):
        if word in groups:
            return kind
    told = root.text("/run/systemd/container") or environ.get("container") or ""
    if told:
        return told
    top = next((mount for mount in mounts if mount.point == "/"), None)
    return "container" if top is not None and top.filesystem == "overlay" else ""
