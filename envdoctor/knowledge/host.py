"""What a host really offers a process, and how its sizes are told to people."""

from __future__ import annotations

import math

from envdoctor.facts.model import Host


def allowed_cpus(host: Host) -> float | None:
    """CPUs that this process may really use: the least of those visible, its affinity, and the cgroup's quota."""
    limits = [float(n) for n in (host.cpus, host.affinity, host.cpu_quota) if n]
    return min(limits) if limits else None


def whole_cpus(host: Host) -> int | None:
    """`allowed_cpus` rounded down to threads that can run at the same time, at least one."""
    allowed = allowed_cpus(host)
    return None if allowed is None else max(1, math.floor(allowed + 1e-9))


def mebibytes(count: float) -> str:
    """Bytes for people: "64 MiB", "1.5 GiB"."""
    if count < 1 << 30:
        return f"{int(count) >> 20} MiB"
    return f"{count / (1 << 30):.1f} GiB".replace(".0 GiB", " GiB")
