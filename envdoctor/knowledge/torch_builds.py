"""One torch binary: what it was built with, for and from; and the published ones."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from envdoctor.knowledge.numbers import line, numbers, reaches
from envdoctor.knowledge.torch_releases import TorchRelease, kernels, releases
from envdoctor.knowledge.versions import below
from envdoctor.values.frozen import frozen

GLIBC_NEW, GLIBC_OLD = "2.28", "2.17"
"""Wheels of 2.6 (12.6 only) and of 2.7 on are manylinux_2_28, before that manylinux1/2014 (release notes of 2.6)."""


@frozen
class Build:
    """A torch binary. ``cuda`` is "" for a CPU build; an empty tuple or None means *not known*."""

    torch: str
    cuda: str
    kernels: tuple[str, ...] = ()  # as torch.cuda.get_arch_list() prints them
    python: tuple[str, str] | None = None  # first and last minor version with wheels
    glibc: str | None = None  # oldest on Linux
    experimental: bool = False

    @property
    def label(self) -> str:
        """The local version label of its index: "cu130", "cpu"."""
        return label_of(self.cuda)

    @property
    def name(self) -> str:
        return f"{self.torch}+{self.label}"


def label_of(line: str) -> str:
    """How PyTorch's indexes and wheels call a CUDA line, "cu128"; "cpu" for none."""
    return "cu" + line.replace(".", "") if line else "cpu"


def is_label(text: str) -> bool:
    return re.fullmatch(r"cpu|cu\d+", text) is not None


_FIRST_OFFERED = {
    "1.4.0": "3.8",
    "1.7.1": "3.9",
    "1.9.0": "3.9",
    "1.11.0": "3.10",
    "1.13.0": "3.11",
    "2.0.0": "3.11",
    "2.2.0": "3.12",
    "2.5.0": "3.13",
    "2.6.0": "3.13",
    "2.9.0": "3.14",
}
"""The oldest torch that the package index has for a Python, by the names of its wheels (November 2026): on Linux, and
where it came later on Windows and Macs. No two Pythons share one of these."""


def python_offered(versions: Sequence[str]) -> str:
    """The Python under which pip was offered these releases of torch; "" where they do not tell. PyTorch's own indexes,
    each of which begins with another release, mark theirs by a label."""
    numbered = [text for text in versions if re.fullmatch(r"\d{1,2}\.\d{1,2}\.\d{1,2}", text)]
    real = [text for text in numbered if numbers(text) > (0, 1, 2)]
    if len(numbered) != len(versions) or not real:
        return ""
    return _FIRST_OFFERED.get(min(real, key=numbers), "")


def release_of(torch: str) -> TorchRelease | None:
    """The release row of a torch version ("2.7.0.dev20250310+cu124" is of 2.7); None when no table has it."""
    parts = numbers(torch)[:2]
    return next((release for release in releases() if numbers(release.name) == parts), None)


def release_before(end: str) -> TorchRelease | None:
    """The newest release row before this release."""
    return next((release for release in reversed(releases()) if below(release.name, end)), None)


def line_of(torch: str, cuda: str | None, *, system: str = "linux", machine: str = "x86_64") -> str | None:
    """The CUDA line of an installed torch: what it says itself, else its label, else what PyPI's wheel of it has.

    "" for a CPU build; None when it cannot be told (a build without label on Windows or aarch64, from source, unknown).
    """
    if cuda is not None:
        return line(cuda) or ""
    label = torch.partition("+")[2]
    if label.startswith("cpu"):
        return ""
    if match := re.match(r"cu(\d+)(\d)(?!\d)", label):
        return f"{match[1]}.{match[2]}"
    release = release_of(torch)
    if label or release is None or system != "linux" or machine != "x86_64" or ".dev" in torch:
        return None
    return release.default


def kernels_of(torch: str, cuda: str | None, *, machine: str = "x86_64", windows: bool = False) -> tuple[str, ...]:
    """What the published build of this release and CUDA line was compiled for; empty when none is known."""
    version, wanted = numbers(torch)[:2], line(cuda)
    family = "arm" if machine in ("aarch64", "arm64") else "x86"
    families = ("win", "x86") if windows and family == "x86" else (family,)
    for own in families:  # Windows has rows where its builds are others than those for Linux
        for row in kernels():
            if row.line == wanted and row.machine == own and numbers(row.first) <= version <= numbers(row.last):
                # PTX of the newest is built on Linux only (RELEASE.md, "+PTX available on linux builds only")
                return tuple(entry for entry in row.entries if not (windows and entry == "compute_120"))
    return ()


@functools.cache
def published_builds(*, machine: str = "x86_64", windows: bool = False) -> tuple[Build, ...]:
    """Every published CUDA build for this machine, newest release first, its stable lines before experimental ones."""
    return tuple(_published_builds(machine, windows))


def never_built_for(cuda: str) -> str | None:
    """Of a CUDA line between those that torch was built for, which itself is none of them, the next newer one; None of
    every other line: a newer one may come, and the oldest are in no table."""
    beside = lines_beside(cuda)
    return beside[1] if beside else None


def lines_beside(cuda: str) -> tuple[str, str] | None:
    """Of a line that `never_built_for` tells of: the next older one and the next newer one."""
    lines = sorted({build.cuda for build in published_builds()}, key=numbers)
    if cuda in lines or not numbers(lines[0]) < numbers(cuda) < numbers(lines[-1]):
        return None
    newer = next(place for place, each in enumerate(lines) if numbers(each) > numbers(cuda))
    return lines[newer - 1], lines[newer]


def release_with(cuda: str, *, beside: str) -> str:
    """The release next to this one that was built for the line, the older of two; "" where none was."""
    with_it = [release.name for release in releases() if cuda in release.lines]
    older = [name for name in with_it if numbers(name) < numbers(beside)]
    return older[-1] if older else with_it[0] if with_it else ""


def _published_builds(machine: str, windows: bool) -> Iterator[Build]:
    arm = machine in ("aarch64", "arm64")
    for release in reversed(releases()):
        lines = release.arm if arm else release.lines
        if arm and windows:
            continue
        for name in sorted(lines, key=lambda each: (each in release.experimental, [-part for part in numbers(each)])):
            yield _build(release, name, machine=machine, windows=windows)


def _build(release: TorchRelease, cuda: str, *, machine: str, windows: bool) -> Build:
    return Build(
        torch=release.name,
        cuda=cuda,
        kernels=kernels_of(release.name, cuda, machine=machine, windows=windows),
        python=release.python,
        glibc=_glibc(release.name, cuda),
        experimental=cuda in release.experimental,
    )


def _glibc(release: str, cuda: str) -> str:
    new = reaches(numbers(release), (2, 7)) or (release == "2.6" and cuda == "12.6")
    return GLIBC_NEW if new else GLIBC_OLD


def is_published(torch: str) -> bool:
    """Is this a version as PyTorch's own indexes spell them? Builds from source do not ("2.5.0a0+git1234abc")."""
    return re.fullmatch(r"\d+(\.\d+)*(\.dev\d+|\.post\d+|rc\d+)?(\+(cpu|cu\d+)(\.\S+)?)?", torch) is not None


def build_of(
    torch: str, cuda: str | None, *, kernels: Sequence[str] = (), machine: str = "x86_64", windows: bool = False
) -> Build:
    """The build of a given torch: what it reports itself, completed by the tables where it says nothing."""
    release = release_of(torch)
    known = line(cuda) or ""
    build = Build(torch=torch.partition("+")[0], cuda=known, kernels=tuple(kernels))
    if release is None or not is_published(torch):
        return build
    table = kernels_of(torch, known, machine=machine, windows=windows)
    return replace(build, kernels=build.kernels or table, python=release.python, glibc=_glibc(release.name, known))
