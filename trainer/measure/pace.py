"""The pace of the machine while a run is timed: one small piece of fixed work between two windows.

On a shared machine neighbours take memory bandwidth, cache or half of a core for seconds at a time. Probes before and
after a run miss that, and large square products, which live in registers and the nearest cache, hardly feel it. A step
in miniature does, in about a step's own proportions: products with a wide weight, softmax, and rows picked from a
table larger than the cache.
"""

from __future__ import annotations

import time
from typing import Callable

import torch

ROWS, INNER, WIDTH, PRODUCTS = 384, 256, 4096, 16  # two MB read and three written for each product in bfloat16
SCORES, SOFTMAXES = (4, 512, 512), 12
TABLE, PICKED, PICKS = 65536, 4096, 12  # rows of `INNER` float32: 64 MB, of which 4 MB are read each time
PATIENCE = 0.2  # seconds for each kind of work; usually all three take 30 ms
Pace = Callable[[], float]


def meter(device: torch.device, dtype: torch.dtype) -> Pace:
    """What does the fixed work once (30 ms on two cores of 2024) and says how often it would go into a second.

    The products are in the number format of the run. For CPUs: a GPU is not shared so, and its clocks are read instead.
    """
    left = torch.randn(ROWS, INNER, device=device).to(dtype)
    right = torch.randn(INNER, WIDTH, device=device).to(dtype)
    scores = torch.randn(SCORES, device=device)
    table = torch.randn(TABLE, INNER, device=device)
    rows = torch.arange(PICKED, device=device) * 7919 % TABLE  # a prime: every row from another place
    picked = torch.empty(PICKED, INNER, device=device)

    def timed() -> float:
        with torch.no_grad():
            left @ right  # not counted: the caches are full of the run's own
            return 1.0 / (
                _whole(lambda: left @ right, PRODUCTS)
                + _whole(lambda: torch.softmax(scores, -1), SOFTMAXES)
                + _whole(lambda: torch.index_select(table, 0, rows, out=picked), PICKS)
            )

    return timed


def _whole(call: Callable[[], object], times: int) -> float:
    """Seconds for so many calls; from fewer where they take far too long, as with kernels held to old instructions."""
    start, done = time.perf_counter(), 0
    while done < times and (done == 0 or time.perf_counter() - start < PATIENCE):
        call()
        done += 1
    return (time.perf_counter() - start) * times / done
