"""Compiled layers as CUDA graphs: their kernels launched by one call of the host each.

A step of a small model in short rows has thousands of launches and little work in each: by counted kernels the host of
an H100 needs 12 ms for 135M weights in rows of 2,048, the GPU less. torch captures what Inductor has compiled (its mode
reduce-overhead, whose memory is a tree of pools), where every shape is the same from step to step. Rows are filled, the
longest document is said to be the row, and the borders of the documents are padded with the row's end: documents of no
tokens, which find nothing to do.

Captured gradients lie where the next pass writes its own, so that one step is one pass here. No graph has been captured
yet: that takes a driver. What was shown without one is that padded borders change no bit of a loss or a gradient, and
that rows of any documents are one graph of constant shapes (`tests/trainer/model/test_traced_attention.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

DEVICES = ("cuda",)
LEAST = 64  # borders: rows of fewer documents are one graph


def pad_borders(borders: torch.Tensor, slots: int) -> torch.Tensor:
    """Borders of a row of `slots` tokens, int32 (documents + 1,), with its end repeated up to a power of two."""
    count = max(LEAST, 1 << (borders.shape[0] - 1).bit_length())
    return F.pad(borders, (0, count - borders.shape[0]), value=slots)


def begin(borders: torch.Tensor, slots: int) -> torch.Tensor:
    """A pass begins: what the last one has left may be overwritten. Its borders, padded."""
    torch.compiler.cudagraph_mark_step_begin()
    return pad_borders(borders, slots)


def why_not(trainee: Any, settings: Any, group: Any, limit: int, batches: Sequence[Any]) -> str | None:
    """Why these layers cannot be captured; None where they can."""
    reasons = {
        "graphs are of a GPU": trainee.device.type not in DEVICES,
        "layers are not compiled": settings.compile != "on",
        "attention is not in the layers' graphs": trainee.attention is None or not trainee.attention.traced,
        "rows are not of one width": not settings.packing,
        "layers are computed again": settings.recompute != "none",
        "a step is more than one pass": len(batches) > 1 or bool(limit) or not hasattr(batches[0], "borders"),
        "several processes exchange gradients while they compute": group.world > 1,
    }
    return next((reason for reason, is_so in reasons.items() if is_so), None)


def capture(attention: Any, layers: Iterable[Any]) -> None:
    """From now on torch captures the compiled layers when they have run a few times."""
    attention.padded = True
    for layer in layers:
        layer.compile(mode="reduce-overhead")
