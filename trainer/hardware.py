"""The device and the precision to train in, each chosen with its reason, and what the machine is called."""

from __future__ import annotations

import hashlib
import os
import platform
from dataclasses import dataclass
from typing import Any, Dict, List, Tuple

import torch

from trainer.errors import TrainerError


@dataclass(frozen=True)
class Choice:
    """A decision the trainer took by itself, for the report: what, the value taken, and why."""

    what: str
    value: str
    reason: str


DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

# Dense bf16 (fp16 on V100 and T4) tensor-core peaks in FLOP/s, from NVIDIA's data sheets; the first name found in the
# device's counts.
PEAKS: List[Tuple[str, float]] = [
    ("GH200", 989.5e12), ("H200", 989.5e12), ("H100 PCIe", 756e12), ("H100 NVL", 835e12), ("H100", 989.5e12),
    ("B200", 2250e12), ("A100", 312e12), ("A10G", 70e12), ("A40", 149.7e12), ("L40S", 362e12),
    ("L4", 121e12), ("RTX 5090", 209.5e12),
    ("RTX 4090", 165.2e12), ("RTX 3090", 71e12), ("V100", 125e12), ("T4", 65e12),
]  # fmt: skip


def choose_device(wanted: str) -> Tuple[torch.device, Choice]:
    """CUDA when it works, else the CPU. TrainerError when CUDA was asked for and does not answer."""
    if wanted != "cpu" and torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device()), Choice("device", "cuda", torch.cuda.get_device_name())
    if wanted == "cuda":
        raise TrainerError(
            "cuda-not-available",
            "device=cuda, but torch %s finds no usable GPU" % torch.__version__,
            "Check the driver and that this torch was built with CUDA, or set device=cpu.",
        )
    why = "asked for" if wanted == "cpu" else "torch %s finds no usable GPU" % torch.__version__
    return torch.device("cpu"), Choice("device", "cpu", why)


def choose_precision(wanted: str, device: torch.device) -> Choice:
    """The number format of matrix products. Weights and optimizer states stay float32 in all of them."""
    if wanted != "auto":
        return Choice("precision", wanted, "asked for")
    if device.type == "cuda":
        major, minor = torch.cuda.get_device_capability(device)
        if (major, minor) >= (8, 0):
            return Choice("precision", "bfloat16", "capability %d.%d has bfloat16 tensor cores" % (major, minor))
        if major == 7:
            return Choice(
                "precision", "float16", "capability %d.%d has float16 tensor cores but no bfloat16" % (major, minor)
            )
        return Choice("precision", "float32", "capability %d.%d has no tensor cores" % (major, minor))
    units = bfloat16_units()
    if units:
        return Choice("precision", "bfloat16", "this CPU multiplies bfloat16 natively (%s)" % ", ".join(units))
    return Choice(
        "precision", "float32", "this CPU has neither AMX nor AVX512_BF16, so bfloat16 would be emulated and slower"
    )


def choose_threads(wanted: int, processes: int = 1) -> Choice:
    """Sets torch's CPU threads. More of them than cores makes every operator wait for the slowest.

    processes: those of this run that share the machine.
    """
    cores = usable_cores()
    count = wanted or max(1, cores // processes)
    torch.set_num_threads(count)
    return Choice(
        "threads",
        str(count),
        "asked for" if wanted else "%d cores for %d process%s" % (cores, processes, "es" if processes > 1 else ""),
    )


def usable_cores() -> int:
    """Cores this process may run on, with the container's CPU quota (cgroup v2) taken into account."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as stream:
            quota, period = stream.read().split()
        if quota != "max":
            cores = min(cores, max(1, int(quota) // int(period)))
    except (OSError, ValueError):
        pass  # no cgroup v2 here: the affinity is all that limits us
    return cores


def bfloat16_units() -> List[str]:
    """The CPU's units that multiply bfloat16, by their names in /proc/cpuinfo; empty where it would be emulated."""
    return sorted({"amx_bf16", "avx512_bf16", "bf16"} & cpu_flags())


def cpu_flags() -> set[str]:
    """Feature words of the first core in /proc/cpuinfo; empty where there is none."""
    return set(_cpuinfo("flags", "Features").split())


def _cpuinfo(*keys: str) -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            for line in stream:
                key, _, value = line.partition(":")
                if key.strip() in keys:
                    return value.strip()
    except OSError:
        return ""  # not Linux
    return ""


def describe(device: torch.device) -> Dict[str, Any]:
    """The report's `device` section."""
    cuda = device.type == "cuda"
    name = _cpuinfo("model name") or platform.processor() or platform.machine()
    return {
        "type": device.type,
        "name": torch.cuda.get_device_name(device) if cuda else name,
        "capability": "%d.%d" % torch.cuda.get_device_capability(device) if cuda else None,
        "cpu_model": name,
        "threads": torch.get_num_threads(),
        "cores": usable_cores(),
        "machine": machine_identity(),
    }


def machine_identity() -> Any:
    """A hash that is the same for runs on one machine since its last start, and names nobody; None where unknown."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
            return hashlib.sha256(b"envdoctor " + stream.read().strip().encode()).hexdigest()[:16]
    except OSError:
        return None  # not Linux


def peak_flops(device: torch.device) -> Any:
    """Dense tensor-core peak of the GPU in FLOP/s, None for a CPU or a GPU this table lacks."""
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((peak for known, peak in PEAKS if known in name), None)
