"""Extensions that a file builds from source: they need torch in sight, a compiler for its CUDA, and time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from envdoctor.rules.image._contents import Contents
from envdoctor.rules.image._installs import Install, RequestedPackage

FROM_SOURCE = frozenset(
    "flash-attn apex causal-conv1d mamba-ssm transformer-engine-torch detectron2 pytorch3d natten torch-scatter "
    "torch-sparse torch-cluster sageattention flash-attn-3".split()
)
"""What has no wheels on the registry, or none for most torches: a plain requirement is a build."""


def sources(held: Contents) -> Iterator[tuple[Install, RequestedPackage, bool | None]]:
    """Each build with its command, and whether torch is there by then; None where that cannot be told."""
    base = held.base
    there: bool | None = bool(base and base.maker in ("pytorch", "ngc")) or (
        None if base is None or _other(held) else False
    )
    for steps in _at_once(held.installs):
        after: list[bool | None] = []
        for step in steps:
            now = there
            for install in step:
                for wanted in install.wanted if install.tool in ("pip", "uv", "setup.py") else ():
                    if wanted.name in FROM_SOURCE and not wanted.wheel and not _is_wheel(install):
                        yield install, wanted, now
                now = _after(install, now)
            after.append(now)
        there = True if True in after else None if None in after else False


def _at_once(installs: Iterable[Install]) -> Iterator[list[list[Install]]]:
    """The commands step by step, and of steps that start at the same time all: those know nothing of each other."""
    for _, some in groupby(installs, lambda install: install.instruction.beside or id(install.instruction)):
        yield [list(step) for _, step in groupby(some, lambda install: id(install.instruction))]


def _after(install: Install, there: bool | None) -> bool | None:
    """Is torch there after a command?"""
    if any(one.name == "torch" or (one.name == "pytorch" and install.tool == "conda") for one in install.wanted):
        return True
    if install.tool not in ("pip", "uv", "setup.py") or there is not False:
        return there
    return None if install.has("-r", "--requirement", "--requirements") or _brings(install) else False


def _other(held: Contents) -> bool:
    return held.base is not None and held.base.maker == "other" and held.base.nvcc is None


def _is_wheel(install: Install) -> bool:
    """Does it come as a wheel from somewhere else?"""
    return any("torch-" in address or "wheel" in address for address in install.values("-f", "--find-links"))


def _brings(install: Install) -> bool:
    """May its requirements bring torch?"""
    return any(
        one.source or one.name not in ("packaging", "ninja", "wheel", "setuptools", "pip", "psutil", "einops", "uv")
        for one in install.wanted
    )


def is_isolated(install: Install, name: str) -> bool:
    """Is the build isolated? ``python setup.py`` never is."""
    if install.tool == "setup.py" or install.has("--no-build-isolation", "--no-use-pep517"):
        return False
    if name in install.values("--no-build-isolation-package"):
        return False
    said = install.variable("PIP_NO_BUILD_ISOLATION") or install.variable("UV_NO_BUILD_ISOLATION")
    return not said
