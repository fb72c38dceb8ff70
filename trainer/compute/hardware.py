"""The device and the precision to train in, each chosen with its reason, and what the machine is called."""

from __future__ import annotations

import hashlib
import os
import platform

import torch

from trainer.errors import TrainerError
from trainer.report import Choice, Device

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def choose_device(wanted: str) -> tuple[torch.device, Choice]:
    """CUDA when it works, else the CPU. TrainerError when CUDA was asked for and does not answer."""
    if wanted != "cpu" and torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device()), Choice("device", "cuda", torch.cuda.get_device_name())
    if wanted == "cuda":
        raise TrainerError(
            "cuda-not-available",
            f"device=cuda, but torch {torch.__version__} finds no usable GPU",
            "Check the driver and that this torch was built with CUDA, or set device=cpu.",
        )
    why = "asked for" if wanted == "cpu" else f"torch {torch.__version__} finds no usable GPU"
    return torch.device("cpu"), Choice("device", "cpu", why)


def choose_precision(wanted: str, device: torch.device) -> Choice:
    """The number format of matrix products. Weights and optimizer states stay float32 in all of them."""
    if wanted != "auto":
        return Choice("precision", wanted, "asked for")
    if device.type == "cuda":
        major, minor = torch.cuda.get_device_capability(device)
        if (major, minor) >= (8, 0):
            return Choice("precision", "bfloat16", f"capability {major}.{minor} has bfloat16 tensor cores")
        if major == 7:
            return Choice(
                "precision", "float16", f"capability {major}.{minor} has float16 tensor cores but no bfloat16"
            )
        return Choice("precision", "float32", f"capability {major}.{minor} has no tensor cores")
    units = bfloat16_units()
    if units:
        return Choice("precision", "bfloat16", f"this CPU multiplies bfloat16 natively ({', '.join(units)})")
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
    shared = f"{cores} cores for {processes} process{'es' if processes > 1 else ''}"
    return Choice("threads", str(count), "asked for" if wanted else shared)


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


def bfloat16_units() -> list[str]:
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


def describe(device: torch.device) -> Device:
    """What the report says of the device."""
    cuda = device.type == "cuda"
    name = _cpuinfo("model name") or platform.processor() or platform.machine()
    return Device(
        type=device.type,
        name=torch.cuda.get_device_name(device) if cuda else name,
        capability=".".join(map(str, torch.cuda.get_device_capability(device))) if cuda else None,
        cpu_model=name,
        threads=torch.get_num_threads(),
        cores=usable_cores(),
        machine=machine_identity(),
        identity=gpu_identity(device) if cuda else None,
    )


def gpu_identity(device: torch.device) -> str | None:
    """The hash of the GPU's UUID by which the doctor knows a card again; None where torch does not tell it.

    With CUDA_VISIBLE_DEVICES the first GPU of a process is not the machine's first.
    """
    uuid = getattr(torch.cuda.get_device_properties(device), "uuid", None)
    if uuid is None:
        return None
    return hashlib.blake2b(f"GPU-{uuid}".encode(), digest_size=8, person=b"envdoctor gpu").hexdigest()


def machine_identity() -> str | None:
    """A hash that is the same for runs on one machine since its last start, and names nobody; None where unknown."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
            return hashlib.sha256(b"envdoctor " + stream.read().strip().encode()).hexdigest()[:16]
    except OSError:
        return None  # not Linux
