"""GPU architectures: the CUDA versions that compile for them and the driver branches that know them. The table is
``releases.toml``.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NamedTuple

from envdoctor.knowledge.cuda_lines import find
from envdoctor.knowledge.numbers import capability, numbers, reaches
from envdoctor.knowledge.table import bundled_table, columns


class GpuGeneration(NamedTuple):
    """One compute capability. ``last_*`` is None while it is still supported."""

    capability: tuple[int, int]
    name: str
    first_cuda: str
    last_cuda: str | None
    last_driver: int | None  # branch
    embedded: bool = False  # Jetson: drivers come with the board's system image and are numbered on their own


def _read(number: str, name: str, first: str, last: str, branch: str, embedded: str) -> GpuGeneration:
    parsed = capability(number)
    assert parsed is not None, number
    return GpuGeneration(
        capability=parsed,
        name=name,
        first_cuda=first,
        last_cuda=last or None,
        last_driver=int(branch) if branch else None,
        embedded=bool(embedded),
    )


@functools.cache
def generations() -> Mapping[tuple[int, int], GpuGeneration]:
    """Every capability that is known, oldest first."""
    return {
        found.capability: found for found in (_read(*row) for row in columns(bundled_table("releases"), "generations"))
    }


def generation(text: str | None) -> GpuGeneration | None:
    """What is known of a compute capability ("8.6"), or None."""
    parsed = capability(text)
    return None if parsed is None else generations().get(parsed)


def driver_range(text: str | None) -> tuple[str | None, int | None]:
    """First driver version and last driver branch that know a GPU of this capability; None where there is no limit.

    The first is the driver of the first CUDA version that compiles for it: drivers learn an architecture no later.
    """
    found = generation(text)
    if found is None or found.embedded:
        return None, None
    first = find(found.first_cuda)
    return (None if first is None else first.own), found.last_driver


def driver_knows(driver: str | None, text: str | None) -> bool | None:
    """Does this driver know a GPU of capability ``text``? None when either is unknown."""
    version = numbers(driver)
    if not version or generation(text) is None:
        return None
    first, last = driver_range(text)
    if first is not None and not reaches(version[:1], numbers(first)[:1]):
        return False
    return last is None or version[0] <= last
