"""Folders of LD_LIBRARY_PATH that bring other libraries than the host's driver and torch."""

from __future__ import annotations

from envdoctor.rules.rule import Pattern
from envdoctor.rules.variables.library_path import is_foreign

_COMPAT = Pattern(r"/compat(?:/|$)")


def compat_folders(path: str) -> list[str]:
    """Those with the driver library of NVIDIA's compatibility packages."""
    return [folder for folder in path.split(":") if _COMPAT.search(folder)]


def cuda_folders(path: str) -> list[str]:
    """Those with libraries of another CUDA than torch's own."""
    return [folder for folder in path.split(":") if is_foreign(folder, None)]
