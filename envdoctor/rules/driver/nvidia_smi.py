from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.compat.evidence import driver_owner
from envdoctor.compat.installed_torch import torch_cuda
from envdoctor.compat.renting import RELIABLE
from envdoctor.facts import Facts
from envdoctor.pattern import Pattern
from envdoctor.rule import Finding, Remedy, Severity, Skip, known, need, rule
from envdoctor.target import Target

_ELSEWHERE = Pattern(r"version mismatch|couldn't communicate with the NVIDIA driver", re.IGNORECASE)
_LOST = Pattern(r"GPU is lost|Unable to determine the device handle|fallen off the bus|ERR!", re.IGNORECASE)
_EMPTY = Pattern(r"No devices were found", re.IGNORECASE)


@rule(Severity.WARNING)
def nvidia_smi(facts: Facts, target: Target) -> Iterator[Finding]:
    """nvidia-smi fails.

    Why: it asks the driver the simplest questions. "GPU is lost" and "Unable to determine the device handle" mean a
    card that fell off the bus; "No devices were found" a driver without a card that it can drive. Where only the
    program is missing, nothing is wrong: envdoctor asks NVML itself.
    Fix: reset or replace the GPU; rent another machine.
    Source: https://docs.nvidia.com/deploy/gpu-debug-guidelines/
    """
    driver = need(facts.driver)
    if driver.smi is None:
        raise Skip("nvidia-smi was not run")
    if not driver.smi or _ELSEWHERE.search(driver.smi):
        return  # a version mismatch and an unloaded module have rules of their own
    lost, empty = _LOST.search(driver.smi), _EMPTY.search(driver.smi)
    torch = known(facts.torch)
    blind = torch is not None and torch.cuda_available is False and bool(torch_cuda(facts))
    if re.search(r"not found|No such file", driver.smi) and not empty and not blind:
        return
    first = driver.smi.strip().splitlines()[0]
    yield Finding(
        kind="gpu-unhealthy" if lost else "gpu-not-visible",
        subject="nvidia-smi",
        actual=first,
        expected="lists the GPUs",
        message=f'nvidia-smi fails: "{first}".',
        remedy=Remedy(
            text=f"The GPU must be reset or replaced. {RELIABLE}" if lost else "Look into the kernel log.",
            commands=("dmesg | grep -i -e nvrm -e xid | tail",),
        ),
        who="host" if lost else driver_owner(facts),
        severity=Severity.ERROR if lost or empty or blind else None,
        explains=("torch/cuda-unavailable", "torch/cuda-error", "driver/cuda-init", "driver/nothing-found")
        if lost or empty
        else ("driver/nothing-found",)
        if blind
        else (),
        root_rank=86 if lost or empty else 5 if blind else 0,
    )
