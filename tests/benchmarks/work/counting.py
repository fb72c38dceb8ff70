"""Count the operators of a step below autograd and autocast: floating-point operations, bytes, kernels, shapes.

Works on real tensors and on tensors without content alike. What attention kernels do is told by those who call them
(`Counter.attends`), for torch takes packed rows for dense ones.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from tests.cuda.watch import NO_KERNEL, launches

Shape = tuple[str, str, tuple[tuple[int, ...], ...]]
"""Operator, number format, and the sizes of its operands."""
PRODUCTS = frozenset({"mm", "addmm", "bmm", "baddbmm", "convolution"})
FORMATS = {torch.float32: "float32", torch.bfloat16: "bfloat16", torch.float16: "float16"}


@dataclass
class Counted:
    """One step. products: FLOPs by number format; bytes: read and written by all kernels but products and attention;
    optimizer_bytes: of them, those of the update. shapes: how often each product occurs; sizes: bytes by the size of
    the operator's largest tensor, rounded up to a power of two.
    """

    products: Tally[str] = field(default_factory=Tally)
    attention: float = 0.0
    bytes: float = 0.0
    optimizer_bytes: float = 0.0
    launches: int = 0
    shapes: Tally[Shape] = field(default_factory=Tally)
    sizes: Tally[int] = field(default_factory=Tally)
    kinds: Tally[str] = field(default_factory=Tally)


class Counter(TorchDispatchMode):  # type: ignore[misc]
    """Counts while it is entered, into `now`."""

    def __init__(self) -> None:
        super().__init__()
        self.now = Counted()
        self._attending = False
        self._updating = False

    @contextmanager
    def attends(self, flops: float, kernels: int = 1) -> Iterator[None]:
        """What happens within is attention, of so many FLOPs and kernels, whatever operators it is made of."""
        before, self._attending = self._attending, True
        try:
            yield
        finally:
            self._attending = before
        self.now.attention += flops
        self.now.launches += kernels

    @contextmanager
    def updates(self) -> Iterator[None]:
        """What happens within is the optimizer's."""
        self._updating = True
        try:
            yield
        finally:
            self._updating = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if not self._attending:
            self._count(func, args, kwargs or {}, out)
        return out

    def _count(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        name = func._schema.name.partition("::")[2]
        if func.is_view or name in NO_KERNEL or func.namespace in ("prim", "profiler"):
            return
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        made = [leaf for leaf in tree_leaves(out) if isinstance(leaf, torch.Tensor)]
        found = self.now
        found.launches += launches(name, args)
        if name in PRODUCTS:
            flops = flop_registry[func._overloadpacket](*args, **kwargs, out_val=out)
            operands = tuple(tuple(tensor.shape) for tensor in given[-2:])
            form = FORMATS.get(given[-1].dtype, str(given[-1].dtype))
            found.products[form] += flops
            found.shapes[name, form, operands] += 1
            return
        written = made or _written(func, args, kwargs)  # fused updates return nothing
        size = sum(map(_bytes, (*given, *written)))
        found.bytes += size
        found.sizes[1 << max(map(_bytes, (*given, *made)), default=1).bit_length()] += size
        found.kinds[name] += size
        if self._updating:
            found.optimizer_bytes += size


def _written(func: Any, args: Any, kwargs: Any) -> list[Any]:
    """The tensors that an operator says it writes."""
    found: list[Any] = []
    for place, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = kwargs.get(argument.name, args[place] if place < len(args) else None)
            found += [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]
    return found


def _bytes(tensor: Any) -> int:
    """Bytes a kernel touches of it: a broadcast dimension is read once."""
    shape = [size for size, stride in zip(tensor.shape, tensor.stride()) if stride != 0]
    count = 1
    for size in shape:
        count *= size
    return int(count * tensor.element_size())
