"""What to do when a micro-batch does not fit into memory: compute it in smaller pieces, whose gradients add up to the
same.

A loss is a sum over trained tokens, divided by those of the whole step, so cutting a micro-batch between documents
changes no gradient beyond rounding. (With dropout other masks are drawn, as in any other batch.)
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Callable, Protocol, TypeVar, cast

import numpy as np
import torch

from trainer.compute import randomness
from trainer.compute.parallel import Group
from trainer.data.batches import Batch
from trainer.data.pairs import PairBatch, Pooled
from trainer.errors import TrainerError

OutOfMemory = getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)  # its name from torch 2.5 on
# What torch's CPU allocator says (c10/core/impl/alloc_cpu.cpp), on Linux and on Windows.
CPU_SAYS = ("can't allocate memory", "not enough memory", "std::bad_alloc")
# What libraries beside torch's own allocator say on a GPU, through torch (aten/src/ATen/cuda/Exceptions.cpp,
# c10/cuda/CUDAException.cpp; NCCL's words: its src/include/alloc.h, "Cuda failure 'out of memory'").
CUDA_SAYS = (
    "CUBLAS_STATUS_ALLOC_FAILED", "CUSOLVER_STATUS_ALLOC_FAILED", "CUSPARSE_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED", "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
    "CUDA error: out of memory", "CUDA out of memory", "Cuda failure 'out of memory'", "Cuda failure 2 'out of memory'",
)  # fmt: skip


def is_out_of_memory(error: BaseException) -> bool:
    """Is it a failed allocation, of the GPU or of the host?"""
    said = str(error)
    return isinstance(error, (OutOfMemory, MemoryError)) or (
        isinstance(error, RuntimeError) and any(words in said for words in (*CPU_SAYS, *CUDA_SAYS))
    )


class Stepping(Protocol):
    """What of a run (`trainer.state.Run`) decides how much is computed at once."""

    trainee: Any
    group: Group
    slots_limit: int
    say: Callable[[str], None]


Step = TypeVar("Step", bound=Callable[..., torch.Tensor])


def in_smaller_pieces(compute: Step) -> Step:
    """Decorates what computes the gradients of a step, `compute(run, position, batches, ...)`: where memory runs out
    the step begins again in smaller pieces, with the same random states and the same result.
    """

    @functools.wraps(compute)
    def computed(run: Stepping, position: Any, batches: Sequence[Any], *more: Any) -> torch.Tensor:
        before = randomness.tensors(run.trainee.device)
        while True:
            try:
                return compute(run, position, batches, *more)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                said = str(error).split("\n")[0]
            _shrink(run, batches, said)  # outside of `except`, which would keep the failed pass's tensors alive
            randomness.restore_torch(run.trainee.device, before)

    return cast(Step, computed)


def _shrink(run: Stepping, batches: Sequence[Any], said: str) -> None:
    """Half as much at once for the rest of the run, told once per halving. TrainerError where a step cannot be
    repeated by one process alone, or nothing gets smaller.
    """
    talking = run.group.kind == "fsdp2" or (
        run.group.world > 1 and any(isinstance(batch, PairBatch) for batch in batches)
    )
    if talking:
        raise TrainerError(
            "out-of-memory",
            f"process {run.group.rank} ran out of memory ({said}) in a pass that all processes compute together",
            "Lower tokens_per_row or pairs_per_batch, set recompute=full, or set gradcache_chunk (under DDP).",
        )
    for parameter in run.trainee.model.parameters():
        parameter.grad = None
    gc.collect()
    if run.trainee.device.type == "cuda":
        torch.cuda.empty_cache()
    run.slots_limit = next_limit(batches, run.slots_limit)
    run.say(
        f"out of memory ({said}): the step is computed again, from now on at most {run.slots_limit} tokens at once; "
        "gradients are the same"
    )


def cut_batch(batch: Any, limit: int) -> list[Any]:
    """`batch` in pieces of at most `limit` slots where its documents allow it; 0: no limit."""
    if not limit or batch.slots <= limit:
        return [batch]
    if isinstance(batch, PairBatch):
        rows = tuple(piece for row in batch.rows for piece in _cut_pooled(row, limit))
        return [replace(batch, rows=rows, again=batch.again or len(rows) > len(batch.rows))]
    return [_part(batch, low, high) for low, high in _runs(batch, limit)]


def next_limit(batches: Sequence[Any], limit: int) -> int:
    """The limit after running out of memory: half the largest piece. TrainerError when no piece gets smaller."""
    sizes = [size for batch in batches for size in _sizes(batch, limit)]
    half = max(sizes) // 2
    if max(size for batch in batches for size in _sizes(batch, half)) >= max(sizes):
        raise TrainerError(
            "out-of-memory",
            f"the memory does not even hold a single document of {max(sizes)} tokens",
            "Lower tokens_per_row, or set recompute=full, or train adapters (lora_rank).",
        )
    return half


def _sizes(batch: Any, limit: int) -> list[int]:
    """Slots that are in memory at the same time, piece by piece."""
    pieces = cut_batch(batch, limit)
    if isinstance(batch, PairBatch):
        rows = [row.batch.slots for row in pieces[0].rows]
        return rows if pieces[0].again else [sum(rows)]
    return [piece.slots for piece in pieces]


def _runs(batch: Batch, limit: int) -> list[Any]:
    """Half-open runs of documents with at most `limit` slots; a larger document is alone."""
    sizes = list(batch.lengths) if _in_one_row(batch) else [batch.slots // len(batch.lengths)] * len(batch.lengths)
    runs, low, filled = [], 0, 0
    for index, size in enumerate(sizes):
        if index > low and filled + size > limit:
            runs.append((low, index))
            low, filled = index, 0
        filled += size
    return [*runs, (low, len(sizes))]


def _in_one_row(batch: Batch) -> bool:
    """Documents end to end, as against one per padded row."""
    return "position_ids" in batch.inputs


def _part(batch: Batch, low: int, high: int) -> Batch:
    """Documents `low` to `high` as a micro-batch of their own."""
    ends = np.cumsum((0, *batch.lengths))
    if _in_one_row(batch):
        begin, end = int(ends[low]), int(ends[high])
        inputs = {name: tensor[:, begin:end] for name, tensor in batch.inputs.items()}
    else:
        width = batch.slots // len(batch.lengths)
        begin, end = low * width, high * width
        inputs = {name: tensor[low:high] for name, tensor in batch.inputs.items()}
    inside = (batch.positions >= begin) & (batch.positions < end)
    borders = torch.from_numpy((ends[low : high + 1] - ends[low]).astype(np.int32))
    targets = batch.targets[inside]
    return replace(
        batch, inputs=inputs, positions=batch.positions[inside] - begin, targets=targets,
        lengths=batch.lengths[low:high], weight=float(len(targets)), slots=end - begin,
        borders=borders.to(batch.borders.device), filler=batch.filler if high == len(batch.lengths) else 0,
        noise=batch.noise and replace(batch.noise, offset=batch.noise.offset + begin),
    )  # fmt: skip


def _cut_pooled(row: Pooled, limit: int) -> list[Pooled]:
    if row.batch.slots <= limit:
        return [row]
    counted = torch.cumsum(torch.cat([row.counts.new_zeros(1), row.counts]), 0).tolist()
    width = row.batch.slots // len(row.batch.lengths)
    ends = np.cumsum((0, *row.batch.lengths))
    pieces = []
    for low, high in _runs(row.batch, limit):
        if low >= len(row.counts):
            continue  # only filler
        begin = int(ends[low]) if _in_one_row(row.batch) else low * width
        last = min(high, len(row.counts))
        places = row.places[counted[low] : counted[last]] - begin
        pieces.append(Pooled(_part(row.batch, low, high), places, row.counts[low:last]))
    return pieces
