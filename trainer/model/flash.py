"""Newer FlashAttention kernels behind torch's own operator, where their packages are installed.

torch 2.13 can put FlashAttention 3 or 4 in place of its own FlashAttention 2, and calls both prototypes: so each is
tried with the model's own heads, and its results are held against float32, before a run relies on it. Which generations
a kernel has is torch's own check (torch/nn/attention/_fa3.py and _fa4.py of 2.13). None of it has run on a GPU yet.
"""

from __future__ import annotations

import importlib.util
from typing import Callable, NamedTuple

from trainer.errors import TrainerError, in_one_line


class Kernel(NamedTuple):
    """``name`` as torch knows it, the ``module`` that brings it, and the major compute capabilities it is made for."""

    name: str
    module: str
    generations: tuple[int, ...]


KERNELS = {"4": Kernel("FA4", "flash_attn.cute", (9, 10)), "3": Kernel("FA3", "flash_attn_interface", (9,))}


def candidates(wanted: str, major: int, found: Callable[[str], bool]) -> tuple[str, ...]:
    """Names of the kernels to be tried, the newest first, for a GPU of capability ``major``.x; ``found`` says whether a
    module is installed. TrainerError where the one asked for cannot be.
    """
    if wanted == "2":
        return ()
    asked = KERNELS.values() if wanted == "auto" else (KERNELS[wanted],)
    fit = tuple(one.name for one in asked if major in one.generations and found(one.module))
    if wanted != "auto" and not fit:
        one = KERNELS[wanted]
        reason = f"it is made for capability {' and '.join(f'{each}.x' for each in one.generations)}, this is {major}.x"
        if major in one.generations:
            reason = f"{one.module} is not installed"
        raise TrainerError("attention-not-available", f"flash={wanted}: {reason}", "Use flash=auto.")
    return fit


def is_installed(module: str) -> bool:
    """Without importing it; the package above it is, and may be broken."""
    try:
        return importlib.util.find_spec(module) is not None
    except Exception:  # noqa: BLE001 - whatever a broken package raises, there is another kernel
        return False


def first_that_works(names: tuple[str, ...], attempt: Callable[[], None]) -> tuple[str, list[str]]:
    """Put each kernel in turn behind torch's operator until ``attempt`` passes with one. Its name ("" where torch's own
    is left in place), and why the others are not it.
    """
    why: list[str] = []
    try:
        from torch.nn.attention import activate_flash_attention_impl, restore_flash_attention_impl
    except ImportError:
        return "", [f"{name}: this torch cannot take it in" for name in names]
    for name in names:
        try:
            activate_flash_attention_impl(name)
            attempt()
            return name, why
        except TrainerError:
            raise
        except Exception as error:  # noqa: BLE001 - a prototype may fail in any way
            restore_flash_attention_impl(_raise_warn=False)
            why.append(f"{name}: {in_one_line(error, 200)}")
    return "", why
