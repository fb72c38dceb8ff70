"""Gradients of several processes become their mean, while the last backward pass of a step still runs.

Buckets are exchanged in one fixed order, each as soon as all of its gradients are there and those before it are on
their way; what the pass did not reach follows when it is over. So processes may differ in the number of their
micro-batches, in the weights that these use, and in what they compute again after running out of memory: every one of
them makes the same calls in the same order. (DDP's own reducer wants the same weights in every pass, and offers
overlap or repeated passes, not both.)

Under bfloat16 gradients travel in bfloat16, as they left the products that made them; sums on the way are rounded, as
by torch's bf16_compress_hook.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

BUCKET_BYTES = 32 << 20  # torch's DDP takes 25 MiB: some milliseconds of a link, so that the last one is short


@dataclass
class Bucket:
    """Weights whose gradients travel together. flat: those gradients, while they do."""

    weights: list[Any]
    waits: int = 0  # for so many gradients of the pass at work
    flat: torch.Tensor | None = None
    work: Any = None


@dataclass
class Exchange:
    """The mean over all processes of the gradients of `weights` (of any shapes), through `dtype`."""

    weights: Sequence[Any]
    world: int
    dtype: torch.dtype = torch.float32
    buckets: list[Bucket] = field(default_factory=list)
    armed: bool = False
    _next: int = 0

    def __post_init__(self) -> None:
        size, bucket = 0, Bucket([])
        each = torch.empty(0, dtype=self.dtype).element_size()
        for weight in reversed(list(self.weights)):  # gradients come from the last layer on
            if bucket.weights and size + weight.numel() * each > BUCKET_BYTES:
                self.buckets.append(bucket)
                size, bucket = 0, Bucket([])
            bucket.weights.append(weight)
            size += weight.numel() * each
        self.buckets += [bucket] if bucket.weights else []
        for bucket in self.buckets:
            for weight in bucket.weights:
                weight.register_post_accumulate_grad_hook(lambda _, there=bucket: self._arrived(there))

    def arm(self) -> None:
        """The pass about to run backward is the last of its step: exchange what it completes."""
        self.armed = True
        for bucket in self.buckets:
            bucket.waits = len(bucket.weights)

    def disarm(self) -> None:
        """That pass is over, or failed. What is on its way stays on its way: the same step's gradients are the same
        when they are computed again.
        """
        self.armed = False

    def finish(self) -> None:
        """Exchange the rest, wait (the device's stream does, not the host), and put the means in place."""
        self.armed = False
        while self._next < len(self.buckets):
            self._launch()
        for bucket in self.buckets:
            bucket.work.wait()
            assert bucket.flat is not None
            pieces = bucket.flat.split([weight.numel() for weight in bucket.weights])
            for weight, piece in zip(bucket.weights, pieces):
                if weight.grad is None:
                    weight.grad = torch.empty_like(weight)
                weight.grad.copy_(piece.view_as(weight))
            bucket.flat = bucket.work = None
        torch._foreach_div_([weight.grad for weight in self.weights], self.world)
        self._next = 0

    def _arrived(self, bucket: Bucket) -> None:
        if not self.armed:
            return
        bucket.waits -= 1
        while self._next < len(self.buckets) and self.buckets[self._next].waits <= 0:
            self._launch()

    def _launch(self) -> None:
        bucket = self.buckets[self._next]
        self._next += 1
        first = bucket.weights[0]
        bucket.flat = torch.empty(sum(w.numel() for w in bucket.weights), dtype=self.dtype, device=first.device)
        pieces = bucket.flat.split([weight.numel() for weight in bucket.weights])
        for weight, piece in zip(bucket.weights, pieces):
            if weight.grad is None:  # no micro-batch of this process used it
                piece.zero_()
            else:
                piece.view_as(weight).copy_(weight.grad)
        bucket.work = torch.distributed.all_reduce(bucket.flat, async_op=True)
