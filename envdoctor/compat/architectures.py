"""Which compiled code a GPU runs: cubins ("sm_86") and PTX ("compute_90") against a compute capability.

A cubin runs on devices of the same major version and no lower minor version; embedded devices stand apart. PTX runs on
every capability from its own upward, because the driver compiles it. Suffix "a" binds code to exactly one capability,
"f" to its family (same major version, no lower minor).

Source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#binary-compatibility, #architecture-specific-features and
#family-specific-features; the exceptions are `DEVICE_REQUIREMENT` in torch/cuda/__init__.py of torch 2.13.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from envdoctor.compat.numbers import capability

# Devices that run only code built for exactly them (integrated GPUs of Jetson and Drive boards).
EMBEDDED = frozenset({(5, 3), (6, 2), (7, 2), (8, 7), (10, 1)})
# Thor was 10.1 until CUDA 13 renumbered it 11.0: code of the old number runs on the new one.
RENUMBERED = {(10, 1): (11, 0)}


@dataclass(frozen=True, slots=True)
class Code:
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


def runs(code: Code, device: tuple[int, int]) -> bool:
    """Does a device of this capability run this code?"""
    if code.suffix == "a":
        return code.capability == device
    same_family = code.capability[0] == device[0] and code.capability[1] <= device[1]
    if code.suffix == "f":
        return same_family
    if code.kind == "ptx":
        return code.capability <= device
    if code.capability in EMBEDDED or device in EMBEDDED:
        return code.capability == device or RENUMBERED.get(code.capability) == device
    return same_family


def serving(entries: Iterable[str], device: str) -> tuple[Code, ...]:
    """The code of a build that a device runs, cubins first. Empty: not one kernel of the build runs there."""
    wanted = capability(device)
    if wanted is None:
        return ()
    found = [code for code in map(parse, entries) if code is not None and runs(code, wanted)]
    return tuple(sorted(found, key=lambda code: (code.kind != "cubin", code.capability)))


def spelled(device: str) -> str:
    """A capability as compilers spell it: "12.0" is "sm_120"."""
    return "sm_" + device.replace(".", "")
