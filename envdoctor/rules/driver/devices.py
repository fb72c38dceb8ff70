from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.compat.evidence import hidden_by, matched, on_cpu
from envdoctor.compat.installed_torch import torch_cuda
from envdoctor.compat.machine import in_container
from envdoctor.facts import Facts
from envdoctor.pattern import Pattern
from envdoctor.rule import Finding, Remedy, Severity, Skip, Who, known, rule
from envdoctor.target import Target

_SAYS = (
    Pattern(r"no CUDA-capable device is detected", re.IGNORECASE),
    Pattern(r"No CUDA GPUs are available"),
    Pattern(r"Failed to initialize NVML: (?:Insufficient Permissions|Unknown Error)"),
)
_LISTED = Pattern(r"['\"]?\[[\d,\s]*\]['\"]?")


@rule(Severity.ERROR)
def devices(facts: Facts, target: Target) -> Iterator[Finding]:
    """The driver is loaded, and no GPU can be opened from here.

    Why: a container started without --gpus has the host's kernel module in view but no device files; a user outside
    the video or render group may not open them; CUDA_VISIBLE_DEVICES can hide every GPU, also by an entry that is no
    device ("[0,1]").
    Fix: start the container with the GPU, join the group, or correct the variable.
    Source: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/#env-vars
    """
    if on_cpu(target):
        raise Skip("the target trains on the CPU")
    driver, launcher, variables = known(facts.driver), known(facts.launcher), known(facts.variables)
    if hidden := hidden_by(facts):
        yield _hidden(hidden, "hides every GPU")
        return
    value = (variables or {}).get("CUDA_VISIBLE_DEVICES", "")
    if _LISTED.fullmatch(value.strip()) and value.strip():
        yield _hidden(f"CUDA_VISIBLE_DEVICES={value}", "is written as a list and names no device")
        return
    gpu_ids = launcher.settings.get("gpu_ids", "") if launcher else ""
    if _LISTED.fullmatch(gpu_ids.strip()):
        yield _hidden(f"gpu_ids: {gpu_ids}", "becomes CUDA_VISIBLE_DEVICES, where a bracketed list names no device")
        return
    if driver is not None and driver.device_denied:
        yield _denied(driver.device_denied)
        return
    said = matched(facts, *_SAYS)
    if driver is None and said is None:
        raise Skip("the device files were not looked at")
    host = known(facts.host)
    wsl = host is not None and (host.container or "").startswith("wsl")
    absent = driver is not None and bool(driver.kernel_module) and not driver.devices and facts.origin.kind != "pasted"
    wanted = not target.is_cpu or (driver is not None and bool(driver.pci) and bool(torch_cuda(facts)))
    if said is not None or (absent and wanted and not wsl):
        yield _absent(facts, said)


def _hidden(setting: str, how: str) -> Finding:
    return Finding(
        kind="gpu-not-visible",
        subject="CUDA_VISIBLE_DEVICES",
        actual=setting,
        expected="indices or UUIDs of the GPUs to be used, separated by commas",
        message=f"{setting} {how}: CUDA finds no GPU.",
        remedy=Remedy(
            text="Name the GPUs by index, separated by commas, or leave the setting out to use all.",
            commands=("unset CUDA_VISIBLE_DEVICES",) if setting.startswith("CUDA") else ("accelerate config",),
        ),
        who="you",
        explains=(
            "torch/cuda-unavailable",
            "torch/cuda-error",
            "torch/device-count",
            "driver/cuda-init",
            "variables/visible-devices",
        ),
        root_rank=92,
    )


def _denied(files: tuple[str, ...]) -> Finding:
    return Finding(
        kind="gpu-not-visible",
        subject=files[0],
        actual="may not be opened",
        expected="readable and writable for this user",
        message=f"The current user may not open {', '.join(files)}.",
        remedy=Remedy(
            text="Join the group that owns the device files, then log in again.",
            commands=("ls -l /dev/nvidia*", "sudo usermod -aG video,render $USER"),
        ),
        who="you",
        explains=("torch/cuda-unavailable", "torch/cuda-error", "driver/"),
        root_rank=88,
    )


def _absent(facts: Facts, said: re.Match[str] | None) -> Finding:
    container = in_container(facts)
    who: Who = "image" if container else "you"
    return Finding(
        kind="gpu-not-visible",
        subject="/dev/nvidia0",
        actual="no device file" if said is None else said[0],
        expected="one device file for each GPU",
        message=("No GPU can be opened" + (f' ("{said[0]}")' if said else ""))
        + (": the container was started without one." if container else ": there are no device files for one."),
        remedy=Remedy(
            text="Start the container with access to the GPU."
            if container
            else "Create the device files, or start the container with access to the GPU.",
            commands=("docker run --gpus all ...",) if container else ("sudo nvidia-modprobe -u -c=0", "nvidia-smi -L"),
        ),
        who=who,
        explains=("torch/cuda-unavailable", "torch/cuda-error", "driver/nvidia-smi", "driver/management-library"),
        root_rank=87,
    )
