"""CUDA lines and the drivers that run them, from the table ``releases.toml``."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from envdoctor.knowledge.numbers import line, numbers, reaches
from envdoctor.knowledge.table import bundled_table, columns


class CudaLine(NamedTuple):
    """One CUDA version, and the drivers it needs on Linux and Windows ("" where NVIDIA states none)."""

    name: str
    runs_from: str
    runs_from_windows: str
    own: str
    own_windows: str


@functools.cache
def lines() -> Mapping[str, CudaLine]:
    """Every line by its name, oldest first."""
    return {cells[0]: CudaLine(*cells) for cells in columns(bundled_table("releases"), "cuda")}


def find(cuda: str | None) -> CudaLine | None:
    """The line of a CUDA version ("10.1.243" is of line 10.1); None for one that no table knows."""
    return lines().get(line(cuda) or "")


def minimum_driver(cuda: str | None, *, windows: bool = False) -> str | None:
    """The oldest driver that runs programs built with ``cuda``; for an unknown newer minor the floor of its major."""
    known = find(cuda) or next(_of_major(cuda), None)
    if known is None:
        return None
    return known.runs_from_windows if windows else known.runs_from


def _of_major(cuda: str | None) -> Iterator[CudaLine]:
    major = numbers(cuda)[:1]
    return (
        row for row in reversed(tuple(lines().values())) if major and major >= (11,) and numbers(row.name)[:1] == major
    )


def newest_cuda(driver: str | None, *, windows: bool = False) -> str | None:
    """The driver's own CUDA version, as nvidia-smi prints it; None for an unknown or very old driver."""
    version = numbers(driver)
    if not version:
        return None
    names = [row.name for row in lines().values() if reaches(version, numbers(row.own_windows if windows else row.own))]
    return names[-1] if names else None


def driver_runs(
    cuda: str | None, *, driver: str | None, driver_cuda: str | None = None, windows: bool = False
) -> bool | None:
    """Does this driver run programs built with ``cuda``? None when that cannot be told.

    ``driver_cuda`` is the CUDA version that the driver's library itself names ("12.8", as in nvidia-smi or in torch's
    "found version 12080"); it outranks the driver's number, because a compatibility package may have replaced the
    library.
    """
    wanted = numbers(cuda)[:2]
    if not wanted:
        return None
    if offered := numbers(driver_cuda)[:2]:
        return offered[0] >= wanted[0] if wanted >= (11,) else offered >= wanted
    minimum = minimum_driver(cuda, windows=windows)
    if minimum is None or not numbers(driver):
        return None
    return reaches(numbers(driver), numbers(minimum))


def from_code(code: int) -> str:
    """CUDA's own integer for a version, as torch prints it: 12080 is "12.8", 9010 is "9.1"."""
    return f"{code // 1000}.{code % 1000 // 10}"
