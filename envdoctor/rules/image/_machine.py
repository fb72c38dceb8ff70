"""The machine that an image is for: which CUDA its driver runs, and which torch would."""

from __future__ import annotations

from envdoctor.knowledge.base_images import Base
from envdoctor.knowledge.questions import (
    best_build,
    capabilities,
    driver_cuda,
    driver_runs,
    driver_version,
    fits,
    numbers,
)
from envdoctor.knowledge.questions import minimum_driver as minimum_driver
from envdoctor.knowledge.solver import Machine as Machine
from envdoctor.knowledge.solver import StackFit
from envdoctor.knowledge.torch_builds import Build
from envdoctor.rules.image._contents import Contents, ImageTorch
from envdoctor.rules.rule import Facts, Target

_CARRIED_FROM = 535
"""The oldest branch with which the compatibility libraries in NVIDIA's images bring CUDA 13 to data-center GPUs."""


def machine_for(facts: Facts, target: Target, python: str | None = None, libc: str | None = None) -> Machine:
    """The machine that the image is for: the target's GPU, and the driver that is known, if any."""
    gpu = (target.capability,) if target.capability else () if target.is_cpu and target.name != "none" else None
    return Machine(
        driver=driver_version(facts),
        driver_cuda=driver_cuda(facts),
        capabilities=capabilities(facts) if gpu is None else gpu,
        python=python,
        libc="musl 1.2" if libc == "musl" else "glibc 2.36" if libc else None,
    )


def torch_fit(facts: Facts, target: Target, held: Contents, torch: ImageTorch) -> StackFit | None:
    """What stands against a torch in this image on this machine; None where its release is in no table."""
    build = torch.build
    if build is None:
        return None
    libc = held.base.libc if held.base is not None else None
    return fits(build, machine_for(facts, target, held.python if torch.install is not None else None, libc))


def is_too_new(cuda: str | None, here: Machine) -> bool:
    """Is this CUDA newer than what the driver runs?"""
    return bool(cuda) and driver_runs(cuda, driver=here.driver, driver_cuda=here.driver_cuda) is False


def carries_newer_cuda(here: Machine) -> bool:
    """May the compatibility libraries of NVIDIA's images work on this driver?"""
    return numbers(here.driver)[:1] >= (_CARRIED_FROM,)


def build_for(here: Machine, torch: ImageTorch) -> Build | None:
    """The build that this machine runs, of the same release where there is one."""
    return best_build(here, torch=torch.version).build or best_build(here).build


def instead_of_base(made: Base) -> str:
    return f"FROM {made.image}: a tag of an older CUDA line" if made.cuda else ""


def instead_of_torch(held: Contents, torch: ImageTorch, here: Machine) -> str:
    build = best_build(
        Machine(driver=here.driver, driver_cuda=here.driver_cuda, capabilities=here.capabilities, python=held.python),
        torch=torch.version,
    ).build
    if build is None:
        return ""
    if torch.install is None:
        return f"FROM pytorch/pytorch:{build.torch}...-cuda{build.cuda}-..."
    return f"pip install torch=={torch.version} --index-url https://download.pytorch.org/whl/{build.label}"
