"""The torch that is installed, told from whatever speaks of it: torch, pip's or conda's list, a version label."""

from __future__ import annotations

import re

from envdoctor.facts.model import Facts, Packages
from envdoctor.facts.need import known
from envdoctor.knowledge import versions
from envdoctor.knowledge.machine import platform_of
from envdoctor.knowledge.numbers import line
from envdoctor.knowledge.torch_builds import Build, build_of, line_of
from envdoctor.values.once import once


@once
def torch_version(facts: Facts) -> str | None:
    """The installed torch: as it names itself, else as its distribution (pip, then conda) does."""
    torch, packages = known(facts.torch), known(facts.packages)
    if torch is not None and torch.version:
        return torch.version
    if packages is None:
        return None
    return packages.version("torch") or packages.conda.get("pytorch", "").partition(" ")[0] or None


def other_backend(facts: Facts) -> str | None:
    """ROCm or XPU, where torch is a build for AMD's or Intel's GPUs by its own word or by its label."""
    torch, packages = known(facts.torch), known(facts.packages)
    if torch is not None and (torch.hip or torch.xpu):
        return "ROCm" if torch.hip else "XPU"
    label = (versions.label((packages.version("torch") if packages else None) or "") or "").lower()
    return next((name for word, name in (("rocm", "ROCm"), ("xpu", "XPU")) if word in label), None)


@once
def torch_cuda(facts: Facts) -> str | None:
    """CUDA line of the installed torch: "" for a build without CUDA, None when nothing tells.

    Asked in this order: torch itself, conda's build string, the version's label, the CUDA runtime wheel installed with
    it, and last what PyPI's wheel of that version has on Linux.
    """
    torch, packages, version = known(facts.torch), known(facts.packages), torch_version(facts)
    if torch is not None:
        if torch.cuda is not None:
            return line(torch.cuda) or ""
        if torch.hip or torch.xpu:
            return ""
    if packages is not None and (conda := _conda_line(packages)) is not None:
        return conda
    if version is None:
        return None
    if "+" not in version and packages is not None and (runtime := _runtime_line(packages)) is not None:
        return runtime
    platform = platform_of(facts)
    system = "linux" if platform.startswith("linux") else "other"
    machine = "x86_64" if platform.endswith("x86_64") else "other"
    return line_of(version, None, system=system, machine=machine)


def line_is_guessed(facts: Facts) -> bool:
    """Is the CUDA line of the torch only what PyPI's wheel of that release has? conda and PyTorch's own index had
    other builds under the same version."""
    torch, packages, version = known(facts.torch), known(facts.packages), torch_version(facts)
    if version is None or "+" in version or (torch is not None and (torch.cuda is not None or torch.arch_list)):
        return False
    return packages is None or (_conda_line(packages) is None and _runtime_line(packages) is None)


def _conda_line(packages: Packages) -> str | None:
    """From build strings such as "py3.8_cuda11.3_cudnn8.2.0_0", "cuda120_py311..." and "py3.8_cpu_0"."""
    torch = packages.find("torch")
    build = packages.conda.get("pytorch", "") or (torch.build if torch else None) or ""
    if match := re.search(r"cuda(\d+\.\d+)", build):
        return match[1]
    if match := re.search(r"cuda_?(\d{2})(\d)(?!\d)", build):
        return f"{match[1]}.{match[2]}"
    says_cpu = re.search(r"(?:^|[ _])cpu(?:[ _]|$)", build) or " cpu" in packages.conda.get("pytorch-mutex", "")
    return "" if says_cpu or (build and "cpuonly" in packages.conda) else None


def _runtime_line(packages: Packages) -> str | None:
    for distribution in packages.distributions:
        if re.fullmatch(r"nvidia-cuda-runtime(-cu\d+)?", distribution.name):
            return line(distribution.version)
    return None


@once
def torch_build(facts: Facts) -> Build | None:
    """The installed torch as a build to be judged; None without torch, without CUDA, or when its CUDA is not known."""
    version, cuda = torch_version(facts), torch_cuda(facts)
    if version is None or not cuda:
        return None
    torch, platform = known(facts.torch), platform_of(facts)
    return build_of(
        version,
        cuda,
        kernels=torch.arch_list if torch else (),
        machine="aarch64" if platform.endswith(("aarch64", "arm64")) else "x86_64",
        windows=platform.startswith("win"),
    )
