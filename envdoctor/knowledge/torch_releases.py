"""Published torch binaries: release x CUDA line -> Python versions, kernels. The tables are in ``releases.toml``."""

from __future__ import annotations

import functools
from typing import NamedTuple

from envdoctor.knowledge.table import bundled_table, columns


class TorchRelease(NamedTuple):
    """One minor release. ``lines`` are CUDA lines on Linux x86-64 and Windows, ``arm`` those on Linux aarch64."""

    name: str
    python: tuple[str, str]
    lines: tuple[str, ...]
    arm: tuple[str, ...]
    experimental: tuple[str, ...]
    default: str


class Kernels(NamedTuple):
    """What the builds of one CUDA line were compiled for, between two releases."""

    line: str
    first: str
    last: str
    machine: str
    entries: tuple[str, ...]  # as torch.cuda.get_arch_list() prints them


@functools.cache
def releases() -> tuple[TorchRelease, ...]:
    """Every minor release, oldest first."""
    return tuple(_release(*cells) for cells in columns(bundled_table("releases"), "torch"))


def _release(name: str, python: str, lines: str, arm: str, default: str) -> TorchRelease:
    first, _, last = python.partition("-")
    words = lines.split()
    return TorchRelease(
        name=name,
        python=(first, last),
        lines=tuple(word.rstrip("*") for word in words),
        arm=tuple(arm.split()),
        experimental=tuple(word.rstrip("*") for word in words if word.endswith("*")),
        default=default,
    )


@functools.cache
def kernels() -> tuple[Kernels, ...]:
    """What the builds were compiled for; the first row that matches counts."""
    return tuple(_kernels(*cells) for cells in columns(bundled_table("releases"), "kernels"))


def _kernels(line: str, releases: str, machine: str, codes: str) -> Kernels:
    first, _, last = releases.partition("-")
    bare = [code.rstrip("+").replace(".", "") for code in codes.split()]
    ptx = [code.rstrip("+").replace(".", "") for code in codes.split() if code.endswith("+")]
    entries = tuple(f"sm_{code}" for code in bare) + tuple(f"compute_{code}" for code in ptx)
    return Kernels(line, first, last, machine, entries)
