"""Remedies that several rules share: what `envdoctor fix` repairs is named the same way everywhere."""

from __future__ import annotations

import re

from envdoctor.facts import Packages
from envdoctor.knowledge import versions
from envdoctor.rule import Pin, Remedy
from envdoctor.stack import by_name
from envdoctor.target import Target

TORCH_FAMILY = frozenset({"torch", "torchvision", "torchaudio"})


def repair(target: Target, text: str, *by_hand: str) -> Remedy:
    """`envdoctor fix` for this target; the commands by hand where there is no stack to repair from."""
    if target.choice is not None:
        return Remedy(text=text, commands=(f"envdoctor fix --target {target.name}",))
    return Remedy(text=text, commands=by_hand)


def locked(target: Target, packages: Packages | None, *names: str) -> tuple[Pin, ...]:
    """Pins of those packages that the stack locks at another version than the installed one."""
    pins = by_name(target.choice.pins) if target.choice else {}
    return tuple(
        Pin(name=name, version=pins[name].version)
        for name in names
        if name in pins and not versions.same((packages.version(name) if packages else None) or "", pins[name].version)
    )


def choose(target: Target, repair_: tuple[Pin, ...], text: str, *by_hand: str) -> Remedy:
    """`envdoctor fix` where it repairs this, else the commands by hand."""
    return repair(target, text, *by_hand) if repair_ else Remedy(text=text, commands=by_hand)


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
