"""Remedies that several rules share: what `envdoctor fix` repairs is named the same way everywhere."""

from __future__ import annotations

import re

from envdoctor.knowledge import versions
from envdoctor.rule import Remedy
from envdoctor.target import Target

TORCH_FAMILY = frozenset({"torch", "torchvision", "torchaudio"})


def repair(target: Target, text: str, *by_hand: str) -> Remedy:
    """`envdoctor fix` for this target; the commands by hand where there is no stack to repair from."""
    if target.choice is not None:
        return Remedy(text=text, commands=(f"envdoctor fix --target {target.name}",))
    return Remedy(text=text, commands=by_hand)


def setting(target: Target, text: str, *by_hand: str) -> Remedy:
    """`envdoctor fix` for a flag or variable, which it sets at start-up; and how to set it by hand."""
    fix = () if target.name == "none" else (f"envdoctor fix --target {target.name}",)
    return Remedy(text=text, commands=(*fix, *by_hand))


def install(*requirements: str) -> str:
    """One command line for exact requirements, quoted for the shell.

    Torch builds with a local label come from torch's own indexes, which uv knows by the name of the backend
    (https://docs.astral.sh/uv/guides/integration/pytorch/).
    """
    quoted = " ".join(f"'{requirement}'" for requirement in requirements)
    for requirement in requirements:
        name, _, version = requirement.partition("==")
        backend = versions.label(version) or ""
        if name in TORCH_FAMILY and re.fullmatch(r"cpu|cu\d{3}", backend):
            return f"uv pip install --torch-backend={backend} {quoted}"
    return f"python -m pip install {quoted}"
