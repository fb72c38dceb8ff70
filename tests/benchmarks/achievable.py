"""What this process's threads reach in large matrix products: the ceiling of any trainer on this machine, now."""

from __future__ import annotations

import time

import torch

SIZES = (512, 1024, 2048)  # the best of these; which one wins depends on the caches


def achievable(seconds: float = 0.5) -> dict[str, float]:
    """FLOP/s of square products by precision, each the best call within `seconds` per size."""
    return {
        "float32": max(_best(torch.float32, size, seconds) for size in SIZES),
        "bfloat16": max(_best(torch.bfloat16, size, seconds) for size in SIZES[:2]),
    }


def _best(dtype: torch.dtype, size: int, seconds: float) -> float:
    left, right = (torch.randn(size, size).to(dtype) for _ in range(2))
    out = torch.empty_like(left)
    torch.mm(left, right, out=out)  # the first call prepares kernels
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begun = time.perf_counter()
        torch.mm(left, right, out=out)
        best = min(best, time.perf_counter() - begun)
    return 2 * size**3 / best
