"""Copies of a checkpoint's tensors on the host, made beside the training.

From a GPU they go into page-locked memory, kept from one checkpoint to the next, in a stream of their own: some 25 to
55 GB/s, against 3 to 6 into ordinary memory while the host waits. The device waits for them only before it changes what
is copied, the host not at all. Without enough page-locked memory they are made as on a CPU.
"""

from __future__ import annotations

from typing import Any

import torch

from trainer.state import Tensors


def plain_copies(tensors: Tensors) -> Tensors:
    """On the host, of the same shapes, in ordinary memory; whoever calls waits."""
    return {
        stem: {name: tensor.detach().to("cpu", copy=True) for name, tensor in group.items()}
        for stem, group in tensors.items()
    }


class Staging:
    """Copies of one checkpoint at a time."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], torch.Tensor] = {}
        self._stream: Any = None
        self._copied: Any = None

    def copies(self, tensors: Tensors) -> Tensors:
        """On the host, of the same shapes; not to be read before `wait`, and not after the next call."""
        found = {
            stem: {name: self._copy((stem, name), tensor.detach()) for name, tensor in group.items()}
            for stem, group in tensors.items()
        }
        if self._stream is not None:
            self._copied = torch.cuda.Event()
            self._copied.record(self._stream)
        return found

    def before_change(self) -> None:
        """The device's stream waits for the copies, once."""
        if self._stream is not None:
            torch.cuda.current_stream().wait_stream(self._stream)

    def wait(self) -> None:
        """Until the copies are there."""
        if self._copied is not None:
            self._copied.synchronize()

    def _copy(self, key: tuple[str, str], tensor: torch.Tensor) -> torch.Tensor:
        place = self._place(key, tensor) if tensor.device.type == "cuda" else None
        if place is None:
            return tensor.to("cpu", copy=True)
        if self._stream is None:
            self._stream = torch.cuda.Stream()
        self._stream.wait_stream(torch.cuda.current_stream())  # what computes it comes first
        with torch.cuda.stream(self._stream):
            place.copy_(tensor, non_blocking=True)
        tensor.record_stream(self._stream)  # its memory is not given away before
        return place

    def _place(self, key: tuple[str, str], tensor: torch.Tensor) -> torch.Tensor | None:
        known = self._kept.get(key)
        if known is not None and known.shape == tensor.shape and known.dtype == tensor.dtype:
            return known
        try:
            self._kept[key] = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        except RuntimeError:
            return None  # the host has no more memory to lock
        return self._kept[key]
