"""Freed memory of the host goes back to the system, where that is what is short."""

from __future__ import annotations

import ctypes

M_MMAP_THRESHOLD = -3  # of malloc.h
THRESHOLD = 1 << 20  # bytes; smaller blocks are soon used again, and each of these costs its page faults


def give_back() -> bool:
    """Let malloc return what is free now, and from now on every large block; False where it cannot be told.

    glibc starts so, but every large block that is freed raises the limit, up to 32 MiB, and what is below lies in one
    heap. Recomputed layers leave holes in it, each a little too small for the next layer's tensors. With all layers
    recomputed a process held twice what its tensors took, nearly as much as without (`tests/.../test_memory.py`).
    """
    try:
        libc = ctypes.CDLL(None)
        libc.malloc_trim(0)
        return bool(libc.mallopt(M_MMAP_THRESHOLD, THRESHOLD))
    except (AttributeError, OSError, TypeError):
        return False  # another C library: nothing to tell it
