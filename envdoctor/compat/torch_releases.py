"""Published torch binaries: release x CUDA line -> Python versions, kernels, and the oldest C library.

Sources:
- CUDA lines from 1.12 on: "Release Compatibility Matrix" of
  https://github.com/pytorch/pytorch/blob/main/RELEASE.md as of 2.14; 2.15: pytorch/pytorch#190385 and
  pytorch/test-infra#8739 (no 12.6 any more), cu134 as in the wheels' own `PYTORCH_RELEASES_CODE_CC`.
  cu129 wheels of 2.9 to 2.13 are not in that matrix but on the index (pytorch/pytorch#187834; 2.12.1 and 2.13.0 are
  widely reported in use; 2.13's own `PYTORCH_RELEASES_CODE_CC` lists 12.9). 2.12.0 has none, 2.12.1 has.
- before 1.12: https://pytorch.org/get-started/previous-versions/.
- kernels: https://github.com/moi90/pytorch_compute_capabilities (read from the binaries, 1.3 to 2.7),
  .ci/manywheel/build_cuda.sh and .ci/aarch64_linux/aarch64_ci_build.sh of each release branch (2.6 on),
  "PyTorch CUDA Support Matrix" in RELEASE.md (2.9 on), pytorch/pytorch#157517 (7.0 back in 2.8) and #172352 (7.0 out
  in 2.11).
- Python versions and default line (no local version label): the wheels on PyPI and the CUDA packages they require,
  asked with `uv pip compile --python-version V --only-binary :all:` for 1.12 to 2.15; before that the release notes.
- glibc: wheels of 2.6 (12.6 only) and of 2.7 on are manylinux_2_28, before that manylinux1/2014 (release notes of 2.6).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Release:
    """One minor release. ``lines`` are CUDA lines on Linux x86-64 and Windows, ``arm`` those on Linux aarch64."""

    name: str
    python: tuple[str, str]
    lines: tuple[str, ...]
    arm: tuple[str, ...]
    experimental: tuple[str, ...]
    default: str


# release | Python first-last | CUDA lines ("*": experimental) | aarch64 lines | default line of PyPI on Linux x86-64
_RELEASES = """
1.3  | 3.5-3.7   | 9.2 10.0 10.1              |                     | 10.1
1.4  | 3.5-3.8   | 9.2 10.0 10.1              |                     | 10.1
1.5  | 3.5-3.8   | 9.2 10.1 10.2              |                     | 10.2
1.6  | 3.6-3.8   | 9.2 10.1 10.2              |                     | 10.2
1.7  | 3.6-3.9   | 9.2 10.1 10.2 11.0         |                     | 10.2
1.8  | 3.6-3.9   | 10.1 10.2 11.1             |                     | 10.2
1.9  | 3.6-3.9   | 10.2 11.1                  |                     | 10.2
1.10 | 3.6-3.9   | 10.2 11.1 11.3             |                     | 10.2
1.11 | 3.7-3.10  | 10.2 11.3 11.5             |                     | 10.2
1.12 | 3.7-3.10  | 10.2 11.3 11.6             |                     | 10.2
1.13 | 3.7-3.11  | 11.6 11.7                  |                     | 11.7
2.0  | 3.8-3.11  | 11.7 11.8                  |                     | 11.7
2.1  | 3.8-3.11  | 11.8 12.1                  |                     | 12.1
2.2  | 3.8-3.12  | 11.8 12.1                  |                     | 12.1
2.3  | 3.8-3.12  | 11.8 12.1                  |                     | 12.1
2.4  | 3.8-3.12  | 11.8 12.1 12.4             |                     | 12.1
2.5  | 3.9-3.13  | 11.8 12.1 12.4             |                     | 12.4
2.6  | 3.9-3.13  | 11.8 12.4 12.6*            | 12.6                | 12.4
2.7  | 3.9-3.13  | 11.8 12.6 12.8*            | 12.8                | 12.6
2.8  | 3.9-3.13  | 12.6 12.8 12.9*            | 12.9                | 12.8
2.9  | 3.10-3.14 | 12.6 12.8 12.9* 13.0*      | 12.6 12.8 12.9 13.0 | 12.8
2.10 | 3.10-3.14 | 12.6 12.8 12.9* 13.0*      | 12.6 12.8 12.9 13.0 | 12.8
2.11 | 3.10-3.14 | 12.6 12.8 12.9* 13.0       | 12.6 12.8 12.9 13.0 | 13.0
2.12 | 3.10-3.14 | 12.6 12.9* 13.0 13.2*      | 12.6 12.9 13.0 13.2 | 13.0
2.13 | 3.10-3.14 | 12.6 12.9* 13.0 13.2*      | 12.6 12.9 13.0 13.2 | 13.0
2.14 | 3.10-3.14 | 12.6 13.0 13.2             | 12.6 13.0 13.2      | 13.0
2.15 | 3.11-3.15 | 13.0 13.2 13.4*            | 13.0 13.2 13.4      | 13.2
"""

# CUDA line | releases | machine | kernels ("+" after the last: PTX of it as well). The first row that matches counts.
# 3.5 is in conda's builds and not in all wheels of those years; it is listed so that no Kepler card is refused wrongly.
_KERNELS = """
9.2  | 1.3-1.7   | x86 | 3.7+ 3.5 5.0 6.0 6.1 7.0
10.0 | 1.3-1.4   | x86 | 3.7+ 3.5 5.0 6.0 6.1 7.0 7.5
10.1 | 1.3-1.8   | x86 | 3.7+ 3.5 5.0 6.0 6.1 7.0 7.5
10.2 | 1.5-1.12  | x86 | 3.7+ 3.5 5.0 6.0 6.1 7.0 7.5
11.0 | 1.7-1.7   | x86 | 3.7+ 3.5 5.0 6.0 6.1 7.0 7.5 8.0
11.1 | 1.8-1.10  | x86 | 3.7+ 3.5 5.0 6.0 6.1 7.0 7.5 8.0 8.6
11.3 | 1.10-1.12 | x86 | 3.7+ 3.5 5.0 6.0 6.1 7.0 7.5 8.0 8.6
11.5 | 1.11-1.11 | x86 | 3.7+ 5.0 6.0 6.1 7.0 7.5 8.0 8.6
11.6 | 1.12-1.13 | x86 | 3.7+ 5.0 6.0 6.1 7.0 7.5 8.0 8.6
11.7 | 1.13-2.0  | x86 | 3.7+ 5.0 6.0 6.1 7.0 7.5 8.0 8.6
11.8 | 2.0-2.7   | x86 | 3.7+ 5.0 6.0 6.1 7.0 7.5 8.0 8.6 9.0
12.1 | 2.1-2.5   | x86 | 5.0 6.0 6.1 7.0 7.5 8.0 8.6 9.0
12.4 | 2.4-2.6   | x86 | 5.0 6.0 6.1 7.0 7.5 8.0 8.6 9.0
12.6 | 2.6-2.14  | x86 | 5.0 6.0 7.0 7.5 8.0 8.6 9.0
12.8 | 2.7-2.7   | x86 | 7.5 8.0 8.6 9.0 10.0 12.0+
12.8 | 2.8-2.10  | x86 | 7.0 7.5 8.0 8.6 9.0 10.0 12.0
12.8 | 2.11-2.11 | x86 | 7.5 8.0 8.6 9.0 10.0 12.0
12.9 | 2.8-2.10  | x86 | 7.0 7.5 8.0 8.6 9.0 10.0 12.0+
12.9 | 2.11-2.13 | x86 | 7.5 8.0 8.6 9.0 10.0 12.0
13.0 | 2.9-2.15  | x86 | 7.5 8.0 8.6 9.0 10.0 12.0+
13.2 | 2.12-2.15 | x86 | 7.5 8.0 8.6 9.0 10.0 12.0+
13.4 | 2.15-2.15 | x86 | 7.5 8.0 8.6 9.0 10.0 12.0+
12.6 | 2.6-2.8   | arm | 9.0
12.6 | 2.9-2.14  | arm | 8.0 9.0
12.8 | 2.7-2.7   | arm | 9.0 10.0 12.0
12.8 | 2.8-2.11  | arm | 8.0 9.0 10.0 12.0
12.9 | 2.8-2.13  | arm | 8.0 9.0 10.0 12.0
13.0 | 2.9-2.15  | arm | 8.0 9.0 10.0 11.0 12.0+
13.2 | 2.12-2.15 | arm | 8.0 9.0 10.0 11.0 12.0+
13.4 | 2.15-2.15 | arm | 8.0 9.0 10.0 11.0 12.0+
"""


def _release(row: str) -> Release:
    name, python, lines, arm, default = (cell.strip() for cell in row.split("|"))
    first, _, last = python.partition("-")
    words = lines.split()
    return Release(
        name=name,
        python=(first, last),
        lines=tuple(word.rstrip("*") for word in words),
        arm=tuple(arm.split()),
        experimental=tuple(word.rstrip("*") for word in words if word.endswith("*")),
        default=default,
    )


RELEASES: tuple[Release, ...] = tuple(_release(row) for row in _RELEASES.strip().splitlines())


@dataclass(frozen=True, slots=True)
class Kernels:
    """What the builds of one CUDA line were compiled for, between two releases."""

    line: str
    first: str
    last: str
    machine: str
    entries: tuple[str, ...]  # as torch.cuda.get_arch_list() prints them


def _kernels(row: str) -> Kernels:
    line, releases, machine, codes = (cell.strip() for cell in row.split("|"))
    first, _, last = releases.partition("-")
    bare = [code.rstrip("+").replace(".", "") for code in codes.split()]
    ptx = [code.rstrip("+").replace(".", "") for code in codes.split() if code.endswith("+")]
    entries = tuple(f"sm_{code}" for code in bare) + tuple(f"compute_{code}" for code in ptx)
    return Kernels(line, first, last, machine, entries)


KERNELS: tuple[Kernels, ...] = tuple(_kernels(row) for row in _KERNELS.strip().splitlines())
