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
    """A report has a CUDA build of torch, and nothing in it shows an NVIDIA GPU or driver.

    Why: whoever installs a CUDA build means to use a GPU. Where CUDA is not available and the report's tools found
    neither card nor driver, the machine, container or virtual machine was started without one.
    Fix: until nvidia-smi lists a GPU, torch cannot use one; where the CPU is meant, its build is much smaller.
    Source: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    """
    if facts.origin.kind != "pasted" or on_cpu(target):
        raise Skip("a probe looks at the machine itself")
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
