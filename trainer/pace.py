"""The pace of the machine while a run is timed: one small piece of fixed work between two windows.

On a shared machine neighbours take memory bandwidth and cache for seconds at a time. Probes before and after a run
miss that, and large square products, which live in registers and the nearest cache, do not feel it. The product of a
row of activations with a wide weight does: it reads and writes megabytes, as a step does, and runs in the same minute.
"""

from __future__ import annotations

import time
from typing import Callable

import torch

ROWS, INNER, WIDTH = 384, 256, 4096  # as wide as a small vocabulary: two MB read and three written, in bfloat16
PRODUCTS = 12  # about 15 ms on two cores
Pace = Callable[[], float]


def meter(device: torch.device, dtype: torch.dtype) -> Pace:
    """What times the fixed work and gives GFLOP/s, stalls included; in the number format of the run.

    For CPUs: a GPU is not shared so, and its clocks are read instead.
    """
    left = torch.randn(ROWS, INNER, device=device).to(dtype)
    right = torch.randn(INNER, WIDTH, device=device).to(dtype)

    def timed() -> float:
        with torch.no_grad():
            left @ right  # not counted: the caches are full of the run's own
            start = time.perf_counter()
            for _ in range(PRODUCTS):
                left @ right
            return 2.0 * ROWS * INNER * WIDTH * PRODUCTS / (time.perf_counter() - start) / 1e9

    return timed
