"""Every random state a run depends on, as JSON and tensors."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch


def tensors(device: torch.device) -> dict[str, torch.Tensor]:
    """torch's generators: the CPU's, and the device's where it has one. uint8 of shape (bytes of the state,)."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def state() -> dict[str, Any]:
    """Python's and numpy's generators."""
    name, keys, *rest = np.random.get_state()
    return {"python": random.getstate(), "numpy": [name, np.asarray(keys).tolist(), *rest]}


def restore(device: torch.device, plain: dict[str, Any], stored: dict[str, torch.Tensor]) -> None:
    """The inverse of `state` and `tensors`, with their shapes."""
    version, inner, gauss = plain["python"]
    random.setstate((version, tuple(inner), gauss))
    name, keys, *rest = plain["numpy"]
    np.random.set_state((name, np.asarray(keys, dtype=np.uint32), *rest))
    restore_torch(device, stored)


def restore_torch(device: torch.device, stored: dict[str, torch.Tensor]) -> None:
    """The inverse of `tensors` alone, with its shapes."""
    torch.set_rng_state(stored["cpu"])
    if device.type == "cuda" and "cuda" in stored:
        torch.cuda.set_rng_state(stored["cuda"], device)
