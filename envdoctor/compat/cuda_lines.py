"""CUDA lines and the drivers that run them.

Two numbers matter for each line. ``runs_from`` is the oldest driver that runs programs built with the line: since CUDA
11 that is the floor of the whole major version ("minor-version compatibility"), before it the line's own driver.
``own`` is the driver that brought the line: from it on, the driver's own CUDA version (what nvidia-smi prints) is at
least the line, which matters only for compiling PTX.

Sources:
- floors 11.x to 13.x and own drivers: https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/ tables 2 and 3
  ("CUDA Toolkit and Minimum Required Driver Version for CUDA Minor Version Compatibility", "... Corresponding Driver
  Versions"); 8.0 to 10.2: the same tables in the CUDA 11.0 release notes.
- the same floors as an installer uses them: https://github.com/astral-sh/uv crates/uv-torch/src/backend.rs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from envdoctor.compat.numbers import at_least, line, numbers


@dataclass(frozen=True, slots=True)
class CudaLine:
    """One CUDA version, and the drivers it needs on Linux and Windows ("" where NVIDIA states none)."""

    name: str
    runs_from: str
    runs_from_windows: str
    own: str
    own_windows: str


# name, oldest driver that runs it (Linux, Windows), driver that brought it (Linux, Windows)
LINES: tuple[CudaLine, ...] = tuple(
    CudaLine(*row.split())
    for row in """
    8.0   375.26     376.51  375.26     376.51
    9.0   384.81     385.54  384.81     385.54
    9.1   390.46     391.29  390.46     391.29
    9.2   396.26     397.44  396.26     397.44
    10.0  410.48     411.31  410.48     411.31
    10.1  418.39     418.96  418.39     418.96
    10.2  440.33     441.22  440.33     441.22
    11.0  450.36.06  451.22  450.36.06  451.22
    11.1  450.80.02  452.39  455.23     456.38
    11.2  450.80.02  452.39  460.27.03  460.82
    11.3  450.80.02  452.39  465.19.01  465.89
    11.4  450.80.02  452.39  470.42.01  471.11
    11.5  450.80.02  452.39  495.29.05  496.04
    11.6  450.80.02  452.39  510.39.01  511.23
    11.7  450.80.02  452.39  515.43.04  516.01
    11.8  450.80.02  452.39  520.61.05  520.06
    12.0  525.60.13  528.33  525.60.13  527.41
    12.1  525.60.13  528.33  530.30.02  531.14
    12.2  525.60.13  528.33  535.54.03  536.25
    12.3  525.60.13  528.33  545.23.06  545.84
    12.4  525.60.13  528.33  550.54.14  551.61
    12.5  525.60.13  528.33  555.42.02  555.85
    12.6  525.60.13  528.33  560.28.03  560.76
    12.7  525.60.13  528.33  565.57.01  565.90
    12.8  525.60.13  528.33  570.26     570.65
    12.9  525.60.13  528.33  575.51.03  576.02
    13.0  580        580     580.65.06  580
    13.1  580        580     590.44.01  590
    13.2  580        580     595.45.04  595
    13.3  580        580     610.43.02  610
    13.4  580        580     615        615
    """.strip().splitlines()
)
# 12.7 was never a toolkit, but it is what drivers of the 565 branch print.
# 13.4: its release notes name the R615 branch (https://docs.nvidia.com/cuda/archive/13.4.1/cuda-toolkit-release-notes/).

_BY_NAME = {row.name: row for row in LINES}


def find(cuda: str | None) -> CudaLine | None:
    """The line of a CUDA version ("10.1.243" is of line 10.1); None for one that no table knows."""
    return _BY_NAME.get(line(cuda) or "")


def minimum_driver(cuda: str | None, *, windows: bool = False) -> str | None:
    """The oldest driver that runs programs built with ``cuda``; for an unknown newer minor the floor of its major."""
    known = find(cuda) or next(_of_major(cuda), None)
    if known is None:
        return None
    return known.runs_from_windows if windows else known.runs_from


def _of_major(cuda: str | None) -> Iterator[CudaLine]:
    major = numbers(cuda)[:1]
    return (row for row in reversed(LINES) if major and major >= (11,) and numbers(row.name)[:1] == major)


def newest_cuda(driver: str | None, *, windows: bool = False) -> str | None:
    """The driver's own CUDA version, as nvidia-smi prints it; None for an unknown or very old driver."""
    version = numbers(driver)
    if not version:
        return None
    names = [row.name for row in LINES if at_least(version, numbers(row.own_windows if windows else row.own))]
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
    return at_least(numbers(driver), numbers(minimum))


def from_code(code: int) -> str:
    """CUDA's own integer for a version, as torch prints it: 12080 is "12.8", 9010 is "9.1"."""
    return f"{code // 1000}.{code % 1000 // 10}"
