"""Which GPUs the code of torch serves, by its own list or by the table of its builds."""

from __future__ import annotations

from envdoctor.knowledge.installed_torch import torch_build
from envdoctor.knowledge.machine import needs_board_wheels
from envdoctor.knowledge.questions import capability_of, code_for, line_is_guessed, release_of, torch_version
from envdoctor.knowledge.solver import libraries_know
from envdoctor.knowledge.torch_builds import Build, build_of
from envdoctor.rules.rule import Facts, known


def devices_of(facts: Facts) -> dict[str, str]:
    """The GPUs by their compute capability, each with a name."""
    gpus, torch = known(facts.gpus), known(facts.torch)
    found = [(gpu.name, gpu.capability or capability_of(gpu.name)) for gpu in gpus.devices] if gpus else []
    if not any(number for _, number in found) and torch is not None:
        found = [(f"GPU {index}", number) for index, number in enumerate(torch.capabilities)]
    return {number: name for name, number in reversed(found) if number}


def kernels_of(facts: Facts) -> tuple[str, ...]:
    """The architectures that torch holds code for."""
    torch, build = known(facts.torch), torch_build(facts)
    return torch.arch_list if torch and torch.arch_list else build.kernels if build else ()


def listed_by_torch(facts: Facts) -> tuple[str, ...]:
    """Its own list. The table of builds has a few more, so that no card is refused wrongly."""
    torch = known(facts.torch)
    return torch.arch_list if torch else ()


def torch_serves(facts: Facts, number: str) -> bool:
    return _serves(torch_build(facts), kernels_of(facts), number)


def has_compiled_code(facts: Facts, number: str) -> bool:
    """Does torch hold code that the GPU runs as it is, without a compilation by the driver?"""
    return any(code.kind == "cubin" for code in code_for(kernels_of(facts), number))


def may_be_another_build(facts: Facts, number: str) -> bool:
    """Is its line not told, and has another torch of the release code for the GPU? Then a report accuses nobody."""
    if not line_is_guessed(facts):
        return False
    build = torch_build(facts)
    of_release = build is not None and release_of(build.torch) is not None and _some_build_serves(build.torch, number)
    return needs_board_wheels(facts) or of_release


def _some_build_serves(torch: str, number: str) -> bool:
    """Has a build of this release code for the GPU? Of one that is in no table (a nightly, a vendor's) any may."""
    release = release_of(torch)
    if release is None:
        return True
    builds = [build_of(release.name, line) for line in release.lines]
    return any(_serves(build, build.kernels, number) for build in builds)


def release_may_serve(facts: Facts, number: str) -> bool | None:
    """Has a build of torch's release code for the GPU? None where the release is not told."""
    version = torch_version(facts)
    return _some_build_serves(version, number) if version else None


def _serves(build: Build | None, kernels: tuple[str, ...], number: str) -> bool:
    """Cubins count. PTX alone counts only where the CUDA line's own libraries know the GPU as well."""
    codes = code_for(kernels, number, build.cuda if build else None)
    if any(code.kind == "cubin" for code in codes):
        return True
    return bool(codes) and (build is None or libraries_know(build.cuda, number))
