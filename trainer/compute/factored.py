"""Adafactor (Shazeer and Stern, arXiv 1804.04235), torch's own: of a matrix's second moments the means of its rows and
columns are kept, of its first moments nothing: of 8 bytes a weight next to none is left. Vectors keep theirs.

Its steps are relative to a matrix's size (the root of its mean square, 0.001 at least): a learning rate of 0.001 moves
weights of size 0.02 by 2e-5.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

import torch

from trainer.errors import TrainerError
from trainer.settings import Settings

KEPT = ("row_var", "col_var", "variance")
_OF_ADAMW = ("beta1", "beta2", "epsilon")


def check(settings: Settings, kind: str, frozen: bool) -> None:
    """TrainerError where the settings contradict each other. kind: of several processes; frozen: adapters alone are
    trained.
    """
    if settings.moments != "adafactor":
        return
    others = {item.name: item.default for item in fields(settings)}
    if given := [name for name in _OF_ADAMW if getattr(settings, name) != others[name]]:
        raise TrainerError(
            "bad-setting", f"{given[0]} is an option of AdamW, which moments=adafactor is not", f"Leave {given[0]} out."
        )
    if settings.optimizer == "fused":
        raise TrainerError(
            "bad-setting", "optimizer=fused: torch has no fused Adafactor", "Leave optimizer out (or loop, foreach)."
        )
    if kind == "fsdp2":
        raise TrainerError(
            "bad-setting", "moments=adafactor does not go with FSDP2: the means of a column need the whole matrix",
            "Leave moments out (FSDP2 shares them among the processes), or set parallel=ddp.",
        )  # fmt: skip
    if frozen:
        raise TrainerError(
            "bad-setting", "moments=adafactor does not go with adapters: its steps are relative to a matrix's size, "
            "and half of theirs begin at zero",
            "Leave moments out: AdamW's of adapters are small.",
        )  # fmt: skip


def adafactor(groups: list[dict[str, Any]], foreach: bool) -> Any:
    """torch's Adafactor with its defaults. TrainerError where this torch has none."""
    if not hasattr(torch.optim, "Adafactor"):
        raise TrainerError(
            "no-adafactor", f"torch {torch.__version__} has no Adafactor", "Install torch 2.5 or newer, or leave "
            "moments out.",
        )  # fmt: skip
    return torch.optim.Adafactor(groups, lr=0.0, foreach=foreach)


def kept(shapes: Iterable[Sequence[int]]) -> int:
    """Numbers that are kept of weights of these shapes."""
    return sum(_kept(shape) for shape in shapes)


def _kept(shape: Sequence[int]) -> int:
    size = math.prod(shape)
    return size if len(shape) < 2 else size // shape[-1] + size // shape[-2]
