"""Which compiled code a GPU runs: cubins ("sm_86") and PTX ("compute_90") against a compute capability.

A cubin runs on devices of the same major version and no lower minor version; embedded devices stand apart. PTX runs on
every capability from its own upward, because the driver compiles it. Suffix "a" binds code to exactly one capability,
"f" to its family (same major version, no lower minor).

Source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#binary-compatibility, #architecture-specific-features and
#family-specific-features; the exceptions are `DEVICE_REQUIREMENT` in torch/cuda/__init__.py of torch 2.13, and of
2.14.1 and 2.15.0, which have another one for builds with CUDA 13.2 and later: there Orin runs the code of servers
(https://github.com/nvidia-holoscan/holohub/pull/1687 ran a cu130 build on one).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from envdoctor.knowledge.numbers import capability, numbers, reaches

# Devices that run only code built for exactly them (integrated GPUs of Jetson and Drive boards).
EMBEDDED = frozenset({(5, 3), (6, 2), (7, 2), (8, 7), (10, 1)})
# Orin, from the first CUDA whose toolkit is one for boards and servers on: it runs code for 8.0 and 8.6 too.
UNIFIED = {(8, 7): (13, 2)}
# Thor was 10.1 until CUDA 13 renumbered it 11.0: code of either number runs on the other.
RENUMBERED = {(10, 1): (11, 0), (11, 0): (10, 1)}


class Code(NamedTuple):
    """One entry of a build's list: cubin or PTX, for which capability, and how narrowly."""

    kind: Literal["cubin", "ptx"]
    capability: tuple[int, int]
    suffix: Literal["", "a", "f"] = ""


def parse(entry: str) -> Code | None:
    """``"sm_90a"``, ``"compute_120"``; None for what is neither ("gfx90a" of a ROCm build)."""
    match = re.fullmatch(r"(sm|compute)_(\d+)(\d)([af]?)", entry.strip())
    if match is None:
        return None
    kind: Literal["cubin", "ptx"] = "cubin" if match[1] == "sm" else "ptx"
    suffix: Literal["", "a", "f"] = "a" if match[4] == "a" else "f" if match[4] == "f" else ""
    return Code(kind, (int(match[2]), int(match[3])), suffix)


def runs(code: Code, device: tuple[int, int], cuda: str | None = None) -> bool:
    """Does a device of this capability run this code, of a build for this CUDA line?"""
    if code.suffix == "a":
        return code.capability == device
    same_family = code.capability[0] == device[0] and code.capability[1] <= device[1]
    if code.suffix == "f":
        return same_family
    if code.kind == "ptx":
        return code.capability <= device
    if cuda and device in UNIFIED and code.capability != device and reaches(numbers(cuda)[:2], UNIFIED[device]):
        return same_family
    if code.capability in EMBEDDED or device in EMBEDDED:
        return code.capability == device or RENUMBERED.get(code.capability) == device
    return same_family


def code_for(entries: Iterable[str], device: str, cuda: str | None = None) -> tuple[Code, ...]:
    """The code of a build for this CUDA line that a device runs, cubins first. Empty: not one of its kernels runs."""
    wanted = capability(device)
    if wanted is None:
        return ()
    found = [code for code in map(parse, entries) if code is not None and runs(code, wanted, cuda)]
    return tuple(sorted(found, key=lambda code: (code.kind != "cubin", code.capability)))


def compiler_name(device: str) -> str:
    """A capability as compilers spell it: "12.0" is "sm_120"."""
    return "sm_" + device.replace(".", "")
