"""GPU architectures: the CUDA versions that compile for them and the driver branches that know them.

Sources:
- first CUDA per architecture: "New features" of https://docs.nvidia.com/cuda/archive/ release notes 8.0 (6.x), 9.0
  (7.0), 10.0 (7.5), 11.0 (8.0), 11.1 (8.6), 11.8 (8.9, 9.0), 12.8 (10.0, 12.0), 12.9 (10.3, 12.1), 13.0 (11.0, formerly
  10.1).
- last CUDA: 3.0 went with CUDA 11.0, 3.5 and 3.7 with CUDA 12.0, 5.x to 7.2 with CUDA 13.0 (same release notes,
  "Deprecated or dropped").
- last driver branch: 470 for Kepler, 580 for Maxwell, Pascal and Volta
  (https://nvidia.custhelp.com/app/answers/detail/a_id/3142, NVIDIA's UNIX legacy list and deprecation schedule).
"""

from __future__ import annotations

from dataclasses import dataclass

from envdoctor.compat.cuda_lines import find
from envdoctor.compat.numbers import at_least, capability, numbers


@dataclass(frozen=True, slots=True)
class Generation:
    """One compute capability. ``last_*`` is None while it is still supported."""

    capability: tuple[int, int]
    name: str
    first_cuda: str
    last_cuda: str | None
    last_driver: int | None  # branch
    embedded: bool = False  # Jetson: drivers come with the board's system image and are numbered on their own


_TABLE = """
3.0   Kepler     8.0   10.2  470
3.5   Kepler     8.0   11.8  470
3.7   Kepler     8.0   11.8  470
5.0   Maxwell    8.0   12.9  580
5.2   Maxwell    8.0   12.9  580
5.3   Maxwell    8.0   12.9  580  embedded
6.0   Pascal     8.0   12.9  580
6.1   Pascal     8.0   12.9  580
6.2   Pascal     8.0   12.9  580  embedded
7.0   Volta      9.0   12.9  580
7.2   Volta      10.0  12.9  580  embedded
7.5   Turing     10.0  -     -
8.0   Ampere     11.0  -     -
8.6   Ampere     11.1  -     -
8.7   Ampere     11.4  -     -    embedded
8.9   Ada        11.8  -     -
9.0   Hopper     11.8  -     -
10.0  Blackwell  12.8  -     -
10.3  Blackwell  12.9  -     -
11.0  Blackwell  13.0  -     -    embedded
12.0  Blackwell  12.8  -     -
12.1  Blackwell  12.9  -     -
"""


def _read(row: str) -> Generation:
    number, name, first, last, branch, *more = row.split()
    parsed = capability(number)
    assert parsed is not None, row
    return Generation(
        capability=parsed,
        name=name,
        first_cuda=first,
        last_cuda=None if last == "-" else last,
        last_driver=None if branch == "-" else int(branch),
        embedded="embedded" in more,
    )


GENERATIONS = {found.capability: found for found in map(_read, _TABLE.strip().splitlines())}


def generation(text: str | None) -> Generation | None:
    """What is known of a compute capability ("8.6"), or None."""
    parsed = capability(text)
    return None if parsed is None else GENERATIONS.get(parsed)


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
    if first is not None and not at_least(version[:1], numbers(first)[:1]):
        return False
    return last is None or version[0] <= last
