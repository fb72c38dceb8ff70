from __future__ import annotations

from collections.abc import Iterator

from envdoctor.compat.renting import RELIABLE
from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, Skip, need, rule
from envdoctor.rules.gpu._naming import full, subject
from envdoctor.target import Target


@rule(Severity.WARNING)
def nvlink(facts: Facts, target: Target) -> Iterator[Finding]:
    """NVLinks of a GPU are down.

    Why: NCCL then takes fewer links, or PCIe: all-reduce becomes several times slower, or hangs. A GPU without any
    link up (a PCIe card without bridge) has none to lose and is not reported.
    Fix: reset the GPUs or exchange the board: the host's.
    Source: https://docs.nvidia.com/deploy/nvml-api/group__NvLink.html; azure_gpu_nvlink.nhc
    """
    gpus = need(facts.gpus)
    if all(gpu.nvlinks_down is None for gpu in gpus.devices):
        raise Skip("NVLinks were not read")
    for gpu in gpus.devices:
        if not gpu.nvlinks_down or not gpu.nvlinks:
            continue
        total = gpu.nvlinks + gpu.nvlinks_down
        yield Finding(
            kind="gpu-unhealthy",
            subject=subject(gpu),
            actual=f"{gpu.nvlinks} of {total} links up",
            expected=f"{total} of {total}",
            message=f"{full(gpu)} has {gpu.nvlinks_down} of {total} NVLinks down.",
            remedy=Remedy(text=f"The host must reset or exchange it. {RELIABLE}", commands=("nvidia-smi nvlink -s",)),
            who="host",
            # Two bridged cards use a part of their links by design; on a board with a switch all must be up.
            severity=None if len(gpus.devices) >= 4 else Severity.NOTE,
        )
