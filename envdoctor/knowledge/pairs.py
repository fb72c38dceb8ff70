"""Releases that belong together: torch with torchvision, torchaudio, triton, torchao and xformers; NumPy 2 with all.

An installed wheel's own requirements come before any row here, and above `READ_UP_TO` only they speak.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from envdoctor.knowledge import versions
from envdoctor.knowledge.numbers import numbers
from envdoctor.knowledge.table import bundled_table

READ_UP_TO = (2, 15)
"""The last torch whose mates were looked up; what goes with a later one only their wheels know."""
STABLE_TORCHAUDIO = (2, 11)
"""From here on one torchaudio serves its own torch and every later one (https://docs.pytorch.org/audio/2.11.0/installation.html)."""


def torchvision_for(torch: str) -> tuple[int, int] | None:
    """Major and minor of the torchvision made with this torch: 0.(x + 15) for torch 2.x, 0.(x + 1) for 1.5 to 1.13;
    None for torch releases that nobody looked up.

    torch 2.15 broke the row: torchvision 0.29.2 of the same day goes with it and requires torch 2.14 or later.
    Source: https://github.com/pytorch/vision#installation; Requires-Dist of torchvision 0.29.2
    """
    release = versions.release(torch)
    if release is None or release[:2] > READ_UP_TO:
        return None
    major, minor, _ = release
    if major == 2:
        return (0, min(minor, 14) + 15)
    return (0, minor + 1) if major == 1 and minor >= 5 else None


def torchaudio_for(torch: str) -> tuple[int, int] | None:
    """Major and minor of the torchaudio made with this torch: the same for 2.x, 0.x for 1.x; None as above.

    Source: https://docs.pytorch.org/audio/2.11.0/installation.html
    """
    release = versions.release(torch)
    if release is None or release[:2] > READ_UP_TO:
        return None
    major, minor, _ = release
    if major == 2:
        return (2, minor)
    return (0, minor) if major == 1 and minor >= 4 else None


def torch_of(mate: str, version: str) -> str:
    """The torch, major and minor, for which this release of torchvision or torchaudio was made: torchvision 0.16 for
    2.1 and 0.14 for 1.13, torchaudio 0.13 for 1.13; torchaudio 2.x has torch's own number."""
    major, minor = (*numbers(version), 0, 0)[:2]
    if major == 0 and mate == "torchvision":
        return f"2.{minor - 15}" if minor >= 15 else f"1.{minor - 1}"
    return f"{major or 1}.{minor}"


def together(mate: str, torch: str) -> tuple[str, str] | None:
    """Requirements of this torch and of the torchvision or torchaudio made with it."""
    want = torchvision_for(torch) if mate == "torchvision" else torchaudio_for(torch)
    return (f"torch=={torch}", f"{mate}=={want[0]}.{want[1]}.*") if want else None


@functools.cache
def _pairs(kind: str, one: str, other: str) -> Mapping[str, str]:
    """Of the rows ``[[kind]]`` of ``pairs.toml`` the text of one key by that of another: nothing more is in them."""
    return {block.texts(one)[0]: block.texts(other)[0] for block in bundled_table("pairs").blocks if block.kind == kind}


def triton_for(torch: str) -> str | None:
    """Major and minor of the triton that this torch's Linux CUDA wheels require, as "3.6"."""
    release = versions.release(torch)
    return _pairs("triton", "torch", "triton").get(f"{release[0]}.{release[1]}") if release else None


def torch_for_triton(triton: str) -> str | None:
    """Major and minor of the newest torch whose Linux CUDA wheels require this triton, as "2.1"."""
    release = versions.release(triton)
    if release is None:
        return None
    rows = _pairs("triton", "torch", "triton")
    fitting = [torch for torch, wanted in rows.items() if wanted == f"{release[0]}.{release[1]}"]
    return max(fitting, key=lambda torch: versions.release(torch) or (), default=None)


def torch_of_torchao(torchao: str) -> str | None:
    """The torch whose ABI this torchao's kernels have, as "2.9"; None from 0.17 on, which use a stable one."""
    release = versions.release(torchao)
    return _pairs("torchao", "torchao", "torch").get(f"{release[0]}.{release[1]}") if release else None


def torch_of_xformers(xformers: str) -> str | None:
    """The torch that this xformers was built with, as "2.9"."""
    return _pairs("xformers", "xformers", "torch").get(versions.public(xformers))


def first_beyond(torch: str) -> str:
    """The first transformers that asks for a later torch than this one; "" where none is known."""
    rows = _pairs("transformers", "transformers", "torch")
    return next((first for first, least in rows.items() if versions.below(versions.public(torch), least)), "")


def first_with_numpy_2() -> Mapping[str, str]:
    """The first release that runs under NumPy 2, by package."""
    return _pairs("numpy2", "package", "first")


UNBOUND_XFORMERS = "0.0.35"
"""The first whose wheels are bound to no torch: it serves 2.10 and later."""


def xformers_for(torch: str) -> str | None:
    """The newest xformers that was built with this very torch, else with its minor release; from 2.10 on the one that
    serves all."""
    release = versions.release(torch)
    if release is None:
        return None
    if release[:2] >= (2, 10):
        return UNBOUND_XFORMERS
    minor = f"{release[0]}.{release[1]}"
    blocks = [block for block in bundled_table("pairs").blocks if block.kind == "xformers"]
    exact = [block.texts("xformers")[0] for block in blocks if versions.public(torch) in block.texts("exact")]
    fitting = exact or [name for name, wanted in _pairs("xformers", "xformers", "torch").items() if wanted == minor]
    return max(fitting, key=lambda name: versions.parse(name) or versions.parse("0"), default=None)  # type: ignore[arg-type,return-value]


def release_for_torch(package: str, torch: str) -> str | None:
    """The newest minor of a package that is compiled for this torch's minor, as "0.9"; None where no row tells."""
    release = versions.release(torch)
    return releases_by_torch(package).get(f"{release[0]}.{release[1]}") if release else None


@functools.cache
def releases_by_torch(package: str) -> Mapping[str, str]:
    """Of a package that is compiled for one minor of torch its newest minor, by torch's; empty where no row tells."""
    blocks = (block for block in bundled_table("pairs").blocks if block.kind == "compiled")
    own = (block for block in blocks if block.texts("package") == (package,))
    return {block.texts("torch")[0]: block.texts("release")[0] for block in own}


def torchao_for(torch: str) -> str | None:
    """The newest line of torchao whose kernels were built with this torch, as "0.15"; from 2.11 on "0.17"."""
    release = versions.release(torch)
    if release is None:
        return None
    if release[:2] >= (2, 11):
        return "0.17"
    minor = f"{release[0]}.{release[1]}"
    if (2, 5) <= release[:2] <= (2, 7):
        return "0.12"  # has kernels for 2.5, 2.6 and 2.7 (its release notes)
    fitting = [name for name, wanted in _pairs("torchao", "torchao", "torch").items() if wanted == minor]
    return max(fitting, key=lambda name: tuple(map(int, name.split("."))), default=None)
