"""Adafactor (Shazeer and Stern, arXiv 1804.04235), torch's own: of a matrix's second moments the means of its rows and
columns are kept, of its first moments nothing: of 8 bytes a weight next to none is left. Vectors keep theirs.

Its steps are relative to a matrix's size (the root of its mean square, 0.001 at least): a learning rate of 0.001 moves
weights of size 0.02 by 2e-5.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from trainer.errors import TrainerError

KEPT = ("row_var", "col_var", "variance")


def adafactor(groups: list[dict[str, Any]], foreach: bool) -> Any:
    """torch's Adafactor with its defaults. TrainerError where this torch has none."""
    if not hasattr(torch.optim, "Adafactor"):
        raise TrainerError(
            "no-adafactor", f"torch {torch.__version__} has no Adafactor", "Install torch 2.5 or newer, or leave "
            "moments out.",
        )  # fmt: skip
    return torch.optim.Adafactor(groups, lr=0.0, foreach=foreach)


def kept_values(shapes: Iterable[Sequence[int]]) -> int:
    """Numbers that are kept of weights of these shapes."""
    return sum(_values_of(shape) for shape in shapes)


def _values_of(shape: Sequence[int]) -> int:
    size = math.prod(shape)
    return size if len(shape) < 2 else size // shape[-1] + size // shape[-2]
