"""What a base image brings, as far as its name says it: torch, CUDA, a compiler for it, Python, the C library."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from envdoctor.knowledge.table import bundled_table, columns
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern

Maker = Literal["cuda", "pytorch", "ngc", "python", "conda", "other"]

_PYTORCH = Pattern(r"(?P<torch>\d+\.\d+\.\d+)-cuda(?P<cuda>\d+\.\d+)-cudnn\d+-(?P<flavour>runtime|devel)")
_CUDA = Pattern(
    r"(?P<cuda>\d+\.\d+\.\d+)-(?:(?:cudnn\d*)-)?(?P<flavour>base|runtime|devel)(?:-(?P<system>[a-z]+[\d.]+))?"
    r"|(?P<bare>\d+\.\d+\.\d+)-cudnn\d*-(?P<bare_flavour>runtime|devel)-(?P<bare_system>\S+)"
)
_PYTHON = Pattern(r"(?:(?:dev|\d+(?:\.\d+)*)-)?(?P<python>3\.\d+)(?:\.\d+)?(?:-|$)")
_VARIABLE = Pattern(r"\$\{?\w")


@frozen
class Base:
    """An image that others start from. "" or None: its name does not say it, or it has none."""

    image: str
    tag: str
    maker: Maker
    torch: str = ""  # "2.7.1+cu128"
    cuda: str = ""  # CUDA line that it is made for, "12.8"
    nvcc: str | None = None  # CUDA line of its compiler; "" where there is none, None where it is not known
    python: str | None = None
    libc: str | None = None
    sets_devices: bool | None = False  # does it set NVIDIA_VISIBLE_DEVICES? None: not known
    readable: bool = True  # has the tag the shape that this maker's tags have?
    fixed: bool = False  # a digest names the image: builders then pass over the tag, which is for readers

    @property
    def gpu(self) -> bool:
        """Was it made for GPUs?"""
        return self.maker in ("cuda", "pytorch", "ngc")

    @property
    def carries_cuda(self) -> bool:
        """Has it NVIDIA's compatibility libraries, which carry a newer CUDA over an older driver?"""
        return self.maker in ("cuda", "ngc")


def base(reference: str) -> Base | None:
    """What the image of a reference brings; None where a variable is left in its name, or a digest stands for its tag.

    A digest alone names one image for good, but does not say which.
    """
    name, _, digest = reference.partition("@")
    if _VARIABLE.search(name) or (digest and ":" not in name.rpartition("/")[2]):
        return None
    return replace(_base_of(name), fixed=bool(digest))


def _base_of(name: str) -> Base:
    head, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    image = f"{head}{slash}{last}".removeprefix("docker.io/").removeprefix("library/")
    if image in ("nvidia/cuda", "nvcr.io/nvidia/cuda"):
        return _cuda(image, tag)
    if image in ("pytorch/pytorch", "ghcr.io/pytorch/pytorch"):
        return _pytorch(image, tag)
    if image == "nvcr.io/nvidia/pytorch":
        line = ngc().get(tag[:5])
        return Base(
            image=image,
            tag=tag,
            maker="ngc",
            cuda=line or "",
            nvcc=line,
            libc="glibc",
            sets_devices=True,
            readable=not tag or bool(re.match(r"\d\d\.\d\d-", tag)),
        )
    return _general(image, tag)


def _cuda(image: str, tag: str) -> Base:
    found = _CUDA.match(tag)
    parts = found.groupdict() if found else {}
    cuda = _line(parts.get("cuda") or parts.get("bare") or _first(tag))
    flavour = parts.get("flavour") or parts.get("bare_flavour")
    system = parts.get("system") or parts.get("bare_system") or ""
    return Base(
        image=image,
        tag=tag,
        maker="cuda",
        cuda=cuda,
        nvcc=cuda if flavour == "devel" else "" if flavour else None,
        python=pythons().get(system),
        libc="glibc",
        sets_devices=True,
        readable=found is not None,
    )


def _pytorch(image: str, tag: str) -> Base:
    found = _PYTORCH.match(tag)
    if found is None:
        floating = tag in ("", "latest", "devel", "runtime") or tag.startswith("nightly")
        return Base(
            image=image, tag=tag, maker="pytorch", nvcc=None, libc="glibc", sets_devices=True, readable=floating
        )
    label = found["cuda"].replace(".", "")
    return Base(
        image=image,
        tag=tag,
        maker="pytorch",
        torch=f"{found['torch']}+cu{label}",
        cuda=found["cuda"],
        nvcc=found["cuda"] if found["flavour"] == "devel" else "",
        libc="glibc",
        sets_devices=True,
    )


def _general(image: str, tag: str) -> Base:
    """Python's own images, conda's, and a distribution's: no CUDA in them, and no compiler for it."""
    short = image.rpartition("/")[2]
    alpine = "alpine" in tag or short == "alpine"
    libc = "musl" if alpine else "glibc"
    if image in ("python", "public.ecr.aws/docker/library/python") or short == "python":
        found = _PYTHON.match(tag)
        return Base(image=image, tag=tag, maker="python", nvcc="", libc=libc, python=found["python"] if found else None)
    if image in ("continuumio/miniconda3", "condaforge/miniforge3", "continuumio/anaconda3", "mambaorg/micromamba"):
        return Base(image=image, tag=tag, maker="conda", nvcc="", libc=libc)
    if image in ("ubuntu", "debian", "alpine"):
        system = tag.removesuffix("-slim")
        return Base(image=image, tag=tag, maker="other", nvcc="", libc=libc, python=pythons().get(system))
    if uv := re.match(r"python(3\.\d+)", tag) if image == "ghcr.io/astral-sh/uv" else None:
        return Base(image=image, tag=tag, maker="python", nvcc="", libc=libc, python=uv[1])
    return Base(image=image, tag=tag, maker="other", nvcc=None, sets_devices=None)


def _first(tag: str) -> str:
    found = re.match(r"\d+\.\d+", tag)
    return found[0] if found else ""


def _line(cuda: str) -> str:
    return ".".join(cuda.split(".")[:2])


@functools.cache
def ngc() -> Mapping[str, str]:
    """Release of NVIDIA's PyTorch container -> its CUDA line."""
    return {row[0]: row[1] for row in columns(bundled_table("base_images"), "ngc")}


@functools.cache
def pythons() -> Mapping[str, str]:
    """Distribution, as tags name it -> the version of its ``python3``."""
    return {row[0]: row[1] for row in columns(bundled_table("base_images"), "distributions")}
