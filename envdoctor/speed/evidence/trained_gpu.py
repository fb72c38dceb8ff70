"""Which of the machine's GPUs a run trained on: the first of a process is not always the machine's first."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.facts.model import Facts, Gpu, Unavailable
from envdoctor.speed.report import Device


def trained_gpu(facts: Facts | None, device: Device) -> Gpu | None:
    """The GPU of the facts that a report names; None for a CPU, without GPUs, or where several could be meant.

    By its identity (the hash of its UUID), for CUDA_VISIBLE_DEVICES gives other numbers than NVML. Reports of torch
    versions that tell no UUID name a model: that is enough where the machine has one of it.
    """
    if device.type == "cpu" or facts is None or isinstance(facts.gpus, Unavailable):
        return None
    gpus = facts.gpus.devices
    if device.identity is not None and any(gpu.identity for gpu in gpus):
        return next((gpu for gpu in gpus if gpu.identity == device.identity), None)
    if len(gpus) == 1:
        return gpus[0]
    same = [gpu for gpu in gpus if gpu.name == device.name]
    if len(same) == 1:
        return same[0]
    return _first_visible(facts, same) if same else None


def _first_visible(facts: Facts, same: Sequence[Gpu]) -> Gpu | None:
    """The first GPU that the variables leave to a process, where that can be said without asking CUDA.

    Numbers mean NVML's where CUDA counts in the bus's order: when told to, or when all GPUs are alike.
    """
    if isinstance(facts.variables, Unavailable) or isinstance(facts.gpus, Unavailable):
        return None
    alike = len(same) == len(facts.gpus.devices)
    if not alike and facts.variables.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID":
        return None
    first = facts.variables.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0].strip()
    if first.isdigit():
        return next((gpu for gpu in same if gpu.index == int(first)), None)
    return next((gpu for gpu in same if gpu.identity and first == f"GPU-{gpu.identity}"), None)
