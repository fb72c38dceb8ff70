"""This process: its packages, its age and memory, and what may disturb a step of it."""

from __future__ import annotations

import gc
import os
import platform
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from typing import Any

import torch

from trainer.report import Memory

# The packages that decide speed.
PACKAGES = ("torch", "transformers", "accelerate", "datasets", "peft", "safetensors", "tokenizers", "numpy")


def versions() -> dict[str, str | None]:
    """Python and the packages that decide speed; None for one that is absent."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def age() -> float:
    """Seconds since this process was started (field 22 of /proc/self/stat); this process's CPU time where there is
    no /proc.
    """
    try:
        with open("/proc/self/stat", encoding="ascii", errors="replace") as stream:
            ticks = float(stream.read().rpartition(")")[2].split()[19])
        with open("/proc/uptime", encoding="ascii") as stream:
            return float(stream.read().split()[0]) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return time.process_time()


def peak_rss() -> int:
    """Largest resident memory of this process so far, bytes (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def memory(device: torch.device) -> Memory:
    """Largest so far, on the host and on the device."""
    cuda = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
    return Memory(peak_rss(), cuda)


@contextmanager
def quiet_garbage() -> Iterator[None]:
    """Python's cycle collector pauses for hundreds of milliseconds in a process with a large model; steps make no
    cycles.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


@contextmanager
def signals() -> Iterator[list[int]]:
    """A list that gets the number of a SIGTERM or SIGINT; a second one acts as it would have without us."""
    caught: list[int] = []
    previous: dict[int, Any] = {}

    def note(number: int, frame: Any) -> None:  # noqa: ARG001 - signal's own signature
        caught.append(number)
        signal.signal(number, previous[number])

    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            previous[number] = signal.signal(number, note)
    except ValueError:
        pass  # not the main thread: whoever runs us there handles signals
    try:
        yield caught
    finally:
        for caught_number, handler in previous.items():
            signal.signal(caught_number, handler)
