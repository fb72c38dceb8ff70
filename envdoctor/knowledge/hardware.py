"""What facts and target together say of the hardware that training will run on."""

from __future__ import annotations

import math

from envdoctor.compat.gpus import capability_of
from envdoctor.compat.numbers import capability
from envdoctor.facts import Facts, Host
from envdoctor.rule import known
from envdoctor.target import Target

Capability = tuple[int, int]


def capabilities(facts: Facts, target: Target) -> frozenset[Capability]:
    """Compute capabilities of the GPUs found; of the target's GPU when none could be read; empty when unknown."""
    gpus, torch = known(facts.gpus), known(facts.torch)
    texts = [gpu.capability or capability_of(gpu.name) for gpu in gpus.devices] if gpus else []
    texts += torch.capabilities if torch else ()
    found = frozenset(pair for text in texts if (pair := capability(text)) is not None)
    wanted = capability(target.capability)
    return found or (frozenset() if wanted is None else frozenset((wanted,)))


def trains_on_gpu(facts: Facts, target: Target) -> bool | None:
    """Will CUDA be used? True when the target or anything seen says so, False on a CPU target, None when unknown."""
    if not target.is_cpu:
        return True
    torch, gpus, driver = known(facts.torch), known(facts.gpus), known(facts.driver)
    if (gpus and (gpus.devices or gpus.count)) or (torch and torch.cuda_available):
        return True
    if target.name != "none" or (torch and torch.cuda == "") or (driver and not driver.nvidia_present):
        return False
    return None


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
