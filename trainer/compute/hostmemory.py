"""What becomes of the host's memory that is freed: kept for the next step, or given back where memory is short."""

from __future__ import annotations

import ctypes
import os

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX = -1, -3, -4  # of malloc.h
THRESHOLD = 1 << 20  # bytes; smaller blocks are soon used again, and each of these costs its page faults
MAPPED = 1 << 16  # blocks that may be mapped of their own: what glibc starts with


def give_back() -> bool:
    """Let malloc return what is free now, and from now on every large block; False where it cannot be told.

    glibc starts so, but every large block that is freed raises the limit, up to 32 MiB, and what is below lies in one
    heap. Recomputed layers leave holes in it, each a little too small for the next layer's tensors. With all layers
    recomputed a process held twice what its tensors took, nearly as much as without (`tests/.../test_memory.py`).
    """
    try:
        libc = ctypes.CDLL(None)
        libc.malloc_trim(0)
        libc.mallopt(M_MMAP_MAX, MAPPED)
        return bool(libc.mallopt(M_MMAP_THRESHOLD, THRESHOLD))
    except (AttributeError, OSError, TypeError):
        return False  # another C library: nothing to tell it


def keep() -> bool:
    """Let malloc keep all that is freed; False where it cannot be told, or was told by the process's environment.

    Else blocks of 32 MiB and more are mapped anew each time, the heap's end goes back to the system after each step,
    and the kernel clears every page of them again: `python -m tests.benchmarks.freed`.
    """
    if any(name.startswith("MALLOC_") for name in os.environ) or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return False
    try:
        libc = ctypes.CDLL(None)
        return bool(libc.mallopt(M_MMAP_MAX, 0)) and bool(libc.mallopt(M_TRIM_THRESHOLD, -1))
    except (AttributeError, OSError, TypeError):
        return False
