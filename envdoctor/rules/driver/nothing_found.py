from __future__ import annotations

from collections.abc import Iterator

from envdoctor.compat.evidence import nvidia_gpu, on_cpu
from envdoctor.compat.installed_torch import torch_cuda, torch_version
from envdoctor.compat.machine import in_container
from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, Skip, known, need, rule
from envdoctor.target import Target


@rule(Severity.WARNING)
def nothing_found(facts: Facts, target: Target) -> Iterator[Finding]:
    """A GPU is meant to be used, and nothing shows an NVIDIA GPU or driver.

    Why: whoever installs a CUDA build means to use a GPU. Where CUDA is not available and a report's tools found
    neither card nor driver, the machine, container or virtual machine was started without one. A target's environment
    may well be made on a machine without its GPU, as images are: then this is a note of what was not judged.
    Fix: until nvidia-smi lists a GPU, torch cannot use one; where the CPU is meant, its build is much smaller.
    Source: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    """
    if on_cpu(target):
        raise Skip("the target trains on the CPU")
    if facts.origin.kind != "pasted":
        yield from _probed(facts, target)
        return
    torch, driver, host = need(facts.torch), known(facts.driver), known(facts.host)
    explicit = bool(torch.cuda) or "+cu" in torch.version
    elsewhere = bool(torch.hip or torch.xpu or (driver and driver.other_accelerators))
    if torch.cuda_available is not False or not explicit or not torch_cuda(facts) or elsewhere:
        return
    if nvidia_gpu(facts) is not None or (host is not None and host.system == "Darwin"):
        return
    yield Finding(
        kind="gpu-not-visible",
        subject="GPU",
        actual="none found",
        expected="nvidia-smi lists a GPU",
        message=f"torch {torch_version(facts)} is built for CUDA {torch_cuda(facts)}, but CUDA is not available, and "
        "nothing in the report shows an NVIDIA GPU or driver.",
        remedy=Remedy(
            text="Start the container with access to the GPU."
            if in_container(facts)
            else "Install the driver, or start the container or virtual machine with access to the GPU.",
            commands=("nvidia-smi", "docker run --gpus all ..."),
        ),
        root_rank=4,
    )


def _probed(facts: Facts, target: Target) -> Iterator[Finding]:
    """A probe looks at the machine itself: nothing there is certain, and a matter only of the target that was named."""
    driver = need(facts.driver)
    if target.is_cpu or driver.nvidia_present or nvidia_gpu(facts) is not None:
        return
    yield Finding(
        kind="gpu-not-visible",
        subject="GPU",
        actual="none here",
        expected=target.title,
        message="There is no NVIDIA GPU here: what depends on it (driver, GPU, CUDA) was not judged.",
        remedy=Remedy(text="Check again where the GPU is."),
        severity=Severity.NOTE,
    )
