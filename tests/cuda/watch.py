"""What a step does to a device: operators, kernels, floating-point operations, bytes, memory, and who waits for it.

A dispatch mode above the tensors without content. Memory is what torch.cuda.max_memory_allocated would say: storages
alive, in blocks of 512 bytes; workspaces of libraries and what kernels take for themselves are not in it.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from tests.cuda.device import Event

BLOCK = 512  # bytes: the caching allocator's smallest unit (c10/cuda/CUDACachingAllocator.cpp, kMinBlockSize)
# By tensors of an entry: the most entries, and chunks, of one launch; a chunk's elements
# (ATen/native/cuda/MultiTensorApply.cuh, CUDA 12.1 and later).
ENTRIES = {1: 770, 2: 448, 3: 336, 4: 252, 5: 210}
CHUNKS, CHUNK = 2240, 65536
NO_KERNEL = frozenset(
    "_unsafe_view empty empty_like empty_strided new_empty new_empty_strided lift lift_fresh detach_ set_ resize_ "
    "record_stream is_pinned _local_scalar_dense is_same_size".split()
)
# Operators that touch some places of their first tensor; into the last two a tensor is put.
TAKEN = ("gather", "index", "embedding", "index_select")
CHOSEN = (*TAKEN, "scatter_", "index_put_")
SMALL = 4 << 20  # bytes: what moves less takes as long as any kernel takes
THIN = 150  # operations for each byte: a product of fewer takes as long as its bytes do, on every chip of `counted`
WRAPPED = ("Float8TrainingTensor",)  # torchao's: eight bits and their scales
WAITING = "step"  # the phase in which nothing may wait


class HostSync(RuntimeError):
    """The host asked for a number that the device has not computed yet, in the middle of a step."""


@dataclass
class Sent:
    """A collective: bytes of its largest tensor, and what the device was given to do before it, as in `Step`."""

    name: str
    size: int
    kernels: int
    flops: float
    attention: float
    other_bytes: float
    small: int


@dataclass
class Step:
    """One step. operators: calls that reach the device; kernels: of them, launches (views and empty tensors launch
    none); bytes: read and written by kernels; flops: of products and attention. by_kind: kernels by their name.

    other_bytes: of kernels that are no products and no attention, and of thin products (an adapter's); small: how many
    of those move less than SMALL bytes, which are left out of other_bytes; attention: of the flops.

    graphs: that were launched; in_graphs: of the kernels, those within one, which the host does not launch one by one.

    copies: between host and device; collectives: bytes by operation. sent: each collective, in their order. peak, live:
    bytes, at most and after it; events, storages: alive after it.
    """

    operators: int = 0
    kernels: int = 0
    flops: float = 0.0
    bytes: float = 0.0
    other_bytes: float = 0.0
    small: int = 0
    attention: float = 0.0
    graphs: int = 0
    in_graphs: int = 0
    copies: int = 0
    peak: int = 0
    live: int = 0
    events: int = 0
    storages: int = 0
    by_kind: dict[str, int] = field(default_factory=dict)
    collectives: dict[str, int] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)


@dataclass
class Wait:
    """The host waited for the device: in which phase and step, for what, and in which function, `times` times."""

    phase: str
    step: int
    what: str
    where: str
    times: int = 1


class Watch(TorchDispatchMode):  # type: ignore[misc]
    """Counts while it is entered. `phase` is set by the one who knows what the program is doing."""

    def __init__(self) -> None:
        super().__init__()
        self.phase = "build"
        self.steps: list[Step] = []
        self.waits: list[Wait] = []
        self.now = Step()
        self.live = self.peak = 0
        self.tolerant = False
        self.packed_attention: Any = None  # (backward) -> FLOPs: torch takes packed rows for dense ones
        self.hopes = True  # what a flag of the device says when it is read: what a program hopes for
        self.compiling = 0  # a compiler's own tensors are none of the step's
        self._known: dict[int, int] = {}

    def __enter__(self) -> Watch:
        resize, watch = torch.UntypedStorage.resize_, self
        self._resize = resize

        def resized(storage: Any, size: int) -> Any:
            out = resize(storage, size)
            watch._resized(storage)
            return out

        torch.UntypedStorage.resize_ = resized  # type: ignore[method-assign]
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        torch.UntypedStorage.resize_ = self._resize  # type: ignore[method-assign]
        super().__exit__(*error)

    def begin(self) -> None:
        """The first step begins."""
        self.phase, self.now, self.peak = WAITING, Step(), self.live

    def edge(self) -> None:
        """A step is over."""
        self.now.peak, self.now.live = self.peak, self.live
        self.now.events, self.now.storages = len(Event.alive), len(self._known)
        self.steps.append(self.now)
        self.now, self.peak = Step(), self.live

    def report(self) -> dict[str, Any]:
        """As JSON."""
        return {"steps": [asdict(step) for step in self.steps], "waits": [asdict(wait) for wait in self.waits]}

    def waited(self, what: str) -> None:
        """Somebody makes the host wait."""
        place, line = where()
        found = Wait(self.phase, len(self.steps), what, place)
        known = [wait for wait in self.waits[-8:] if replace(wait, times=1) == found]
        if known:
            known[0].times += 1
        else:
            self.waits.append(found)
        if self.phase == WAITING and not self.tolerant:
            raise HostSync(f"{what} in step {found.step}, in {place}, {line}")

    @contextmanager
    def graph(self) -> Iterator[None]:
        """A CUDA graph is launched, whose kernels are those that are counted meanwhile."""
        before = self.now.kernels
        yield
        self.now.graphs += 1
        self.now.in_graphs += self.now.kernels - before

    def launched(self, name: str, tensors: list[Any], count: int = 1) -> None:
        """A kernel that no operator of torch launches; every tensor is read or written once."""
        self.now.operators += 1
        self.now.kernels += count
        self.now.by_kind[name] = self.now.by_kind.get(name, 0) + count
        size = sum(map(_bytes, tensors))
        self.now.bytes += size
        self._moved(size, count)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.compiling:
            return func(*args, **kwargs)
        name = func._schema.name.partition("::")[2]
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        if any(type(tensor).__name__ in WRAPPED for tensor in given):
            return NotImplemented  # they call operators on what they hold, which come here
        if name == "_local_scalar_dense" and given[0].device.type == "cuda":
            self.waited("reading a number")
            return self.hopes if given[0].dtype == torch.bool else 0
        out = func(*args, **kwargs)
        made = [leaf for leaf in tree_leaves(out) if isinstance(leaf, torch.Tensor)]
        if any(is_traceable_wrapper_subclass(tensor) for tensor in (*given, *made)):
            return out  # a sharded tensor: what it does with its own piece comes here by itself
        for tensor in made:
            if tensor.device.type == "cuda":
                self._keep(tensor)
        if self.phase == WAITING or name in ("copy_", "_to_copy"):
            self._count(func, name, args, kwargs, given, made, out)
        return out

    def _keep(self, tensor: Any) -> None:
        storage = tensor.untyped_storage()
        if storage._cdata not in self._known:
            self._known[storage._cdata] = 0
            weakref.finalize(storage, self._gone, storage._cdata)
            self._resized(storage)

    def _resized(self, storage: Any) -> None:
        """Its size now; FSDP2 empties storages and fills them again."""
        before = self._known.get(storage._cdata)
        if before is not None:
            self._known[storage._cdata] = size = -(-storage.nbytes() // BLOCK) * BLOCK
            self.live += size - before
            self.peak = max(self.peak, self.live)

    def _gone(self, key: int) -> None:
        self.live -= self._known.pop(key, 0)

    def _count(self, func: Any, name: str, args: Any, kwargs: Any, given: Any, made: Any, out: Any) -> None:
        places = {tensor.device.type for tensor in (*given, *made)}
        if "cuda" not in places or func.namespace in ("prim", "profiler"):
            return
        if name in ("copy_", "_to_copy") and "cpu" in places and _crosses(name, given, made):
            self.now.copies += 1
            source = given[1] if name == "copy_" else given[0]
            blocking = not (args[2] if len(args) > 2 else kwargs.get("non_blocking", False))
            if source.device.type == "cuda":
                self.waited("copying to the host")
            elif source.numel() and (blocking or not getattr(source, "is_page_locked", False)):
                self.waited("copying from pageable memory" if not blocking else "a blocking copy to the device")
            return
        size = sum(map(_bytes, (*given, *made)))
        if name in CHOSEN:  # of the first tensor, as much as is taken out of it or put into it
            size = sum(map(_bytes, given[1:])) + (2 * _bytes(made[0]) if name in TAKEN else _bytes(given[-1]))
        if func.namespace in ("c10d", "_c10d_functional"):
            now = self.now
            now.collectives[name] = now.collectives.get(name, 0) + size
            work = (now.kernels, now.flops, now.attention, now.other_bytes, now.small)
            now.sent.append(Sent(name, max(map(_bytes, given), default=0), *work))
            return
        self.now.operators += 1
        if func.is_view or name in NO_KERNEL:
            return
        count = launches(name, args)
        self.now.kernels += count
        self.now.by_kind[name] = self.now.by_kind.get(name, 0) + count
        self.now.bytes += size
        if "varlen" in name:
            found = self.packed_attention("backward" in name)
        elif func._overloadpacket in flop_registry:
            causal = _argument(func, "is_causal", args, kwargs)
            found = flop_registry[func._overloadpacket](*args, **kwargs, out_val=out) / (2 if causal else 1)
        elif name == "addmm_":
            found = 2.0 * args[0].numel() * args[1].shape[-1]
        else:
            self._moved(size, count)
            return
        if found < THIN * size:
            self._moved(size, count)
        self.now.flops += found
        self.now.attention += found if "attention" in name or "varlen" in name else 0.0

    def _moved(self, size: int, count: int) -> None:
        small = size < SMALL * count
        self.now.small += count if small else 0
        self.now.other_bytes += 0 if small else size


class Through(Watch):
    """One that torch.compile takes for part of torch: beneath a program's own modes it compiles nothing."""

    @classmethod
    def is_infra_mode(cls) -> bool:
        return True


def _bytes(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size())


def _argument(func: Any, name: str, args: Any, kwargs: Any) -> Any:
    for place, argument in enumerate(func._schema.arguments):
        if argument.name == name:
            return kwargs.get(name, args[place] if place < len(args) else argument.default_value)
    return None


def _crosses(name: str, given: Any, made: Any) -> bool:
    left, right = (given[0], given[1]) if name == "copy_" else (given[0], made[0])
    return bool(left.device.type != right.device.type)


def launches(name: str, args: Any) -> int:
    """How often one operator launches: at least once, and a list of tensors as multi_tensor_apply cuts it."""
    if not name.startswith(("_foreach", "_fused")):
        return 1
    lists = [item for item in args if isinstance(item, (list, tuple)) and item and isinstance(item[0], torch.Tensor)]
    lists = [item for item in lists if item[0].dim() or name.startswith("_foreach")]  # step counters ride along
    if not lists:
        return 1
    depth = min(5, len(lists))
    count, entries, chunks = 0, 0, 0
    for tensor in lists[0]:
        entries += 1
        left = -(-tensor.numel() // CHUNK)
        while left:
            taken = min(left, CHUNKS - chunks)
            chunks, left = chunks + taken, left - taken
            if chunks == CHUNKS or (not left and entries == ENTRIES[depth]):
                count, chunks, entries = count + 1, 0, 1 if left else 0
    return count + (1 if chunks else 0)


def where() -> tuple[str, str]:
    """(module and function, file and line) of the innermost frame of the trainer, else of anything but torch."""
    frame: Any = sys._getframe(1)
    other = ("", "unknown place")
    here = str(Path(__file__).parent)
    while frame is not None:
        path, code = frame.f_code.co_filename, frame.f_code
        place = (f"{Path(path).stem}.{code.co_name}", f"{path}:{frame.f_lineno}")
        if "/trainer/" in path:
            return place
        if not other[0] and not path.startswith(here) and "/torch/" not in path:
            other = place
        frame = frame.f_back
    return other
