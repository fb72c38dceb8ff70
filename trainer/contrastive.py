"""One vector per document, and the loss that pulls a query towards its passage and away from all others of its batch.

InfoNCE over cosines, as GritLM has it (arXiv 2402.09906): every passage of the batch, hard negatives included, is a
negative for every query but its own. Across processes the batch is the union of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Callable, List, Sequence, Tuple

import torch
import torch.nn.functional as F

from trainer import randomness
from trainer.batches import Batch


@dataclass(frozen=True)
class Pooled:
    """Documents to embed in one forward pass. `places` index the flattened tokens that count in the means, document
    by document; `counts` says how many each document has.
    """

    batch: Batch
    places: torch.Tensor
    counts: torch.Tensor

    def to(self, device: torch.device) -> "Pooled":
        """The same on `device`."""
        if device.type == "cpu":
            return self
        places, counts = (tensor.to(device, non_blocking=True) for tensor in (self.places, self.counts))
        return Pooled(self.batch.to(device), places, counts)

    def pinned(self) -> "Pooled":
        """The same in page-locked memory."""
        return Pooled(self.batch.pinned(), self.places.pin_memory(), self.counts.pin_memory())


@dataclass(frozen=True)
class PairBatch:
    """One contrastive micro-batch: the documents of `rows`, embedded in order, give `queries` query vectors and then
    those of the passages; `targets` is the passage of each query. `factor` is its part of the step's loss per query.

    What the loop counts: no trained tokens, because no token is predicted.
    """

    rows: Tuple[Pooled, ...]
    queries: int
    targets: torch.Tensor
    factor: float
    weight: float = 0.0
    trained: int = 0

    @property
    def documents(self) -> Tuple[int, ...]:
        return tuple(length for row in self.rows for length in row.batch.documents)

    @property
    def real(self) -> int:
        return sum(row.batch.real for row in self.rows)

    @property
    def slots(self) -> int:
        return sum(row.batch.slots for row in self.rows)

    def to(self, device: torch.device) -> "PairBatch":
        return replace(self, rows=tuple(row.to(device) for row in self.rows), targets=self.targets.to(device))

    def pinned(self) -> "PairBatch":
        return replace(self, rows=tuple(row.pinned() for row in self.rows), targets=self.targets.pin_memory())


def mean_pooled(hidden: torch.Tensor, row: Pooled) -> torch.Tensor:
    """(documents, width): the mean of each document's counted states, in float32. hidden: (slots, width)."""
    return torch.segment_reduce(hidden[row.places].float(), "mean", lengths=row.counts, axis=0, unsafe=True)


def info_nce(queries: Any, passages: Any, targets: Any, temperature: float) -> torch.Tensor:
    """The sum over queries of -log softmax(cosine / temperature) at its target; float32 scalar.

    queries (n, width), passages (m, width), targets (n,) indices of passages.
    """
    with torch.autocast(queries.device.type, enabled=False):
        scores = F.normalize(queries.float()) @ F.normalize(passages.float()).t() / temperature
        return F.cross_entropy(scores, targets, reduction="sum")


def joined(local: torch.Tensor) -> torch.Tensor:
    """The rows of every process, in rank order; the gradient flows to this process's own.

    Every process computes the whole loss from them, so that nothing is communicated in the backward pass: the SUM of
    the processes' weight gradients is that of one process with the joined batch (a wrapper that averages gradients
    needs the loss times the number of processes). Row counts may differ between processes.
    """
    import torch.distributed as dist

    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return local
    size = torch.tensor([local.shape[0]], device=local.device)
    sizes = [torch.zeros_like(size) for _ in range(dist.get_world_size())]
    dist.all_gather(sizes, size)
    counts = [int(count) for count in sizes]
    filled = local.new_zeros((max(counts), *local.shape[1:]))
    filled[: local.shape[0]] = local.detach()
    everyone = [torch.empty_like(filled) for _ in counts]
    dist.all_gather(everyone, filled)
    pieces = [piece[:count] for piece, count in zip(everyone, counts)]
    pieces[dist.get_rank()] = local
    return torch.cat(pieces)


def joined_targets(targets: torch.Tensor, passages: int) -> torch.Tensor:
    """Every process's targets as indices into the joined passages, of which this process has `passages`."""
    counts = joined(torch.tensor([[passages, len(targets)]], device=targets.device))
    before = torch.cumsum(counts[:, 0], 0) - counts[:, 0]
    return joined(targets) + torch.repeat_interleave(before, counts[:, 1])


def embedded(rows: Sequence[Pooled], embed: Callable[[Pooled], torch.Tensor], again: bool) -> torch.Tensor:
    """(documents, width) of all rows. `again`: by GradCache, whose memory is that of one row whatever the batch."""
    if not again:
        return torch.cat([embed(row) for row in rows])
    anchor = torch.zeros((), requires_grad=True)  # gives autograd a reason to call backward
    vectors: torch.Tensor = GradCache.apply(anchor, embed, rows)
    return vectors


class GradCache(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    """Embed row by row without a graph; in the backward pass compute each row again, with its graph, and go through
    it with the gradient that the whole batch's loss gave to its vectors (Gao et al., arXiv 2101.06983).

    Random states are put back before each repetition: without that, dropout would draw other masks than those the
    loss has seen, and the gradients would be wrong. A step in three rows took 1.2 times the CPU time of one row (median
    of 6 interleaved steps of chat-5m on a busy core, 0.95 to 1.48): for batches that do not fit, not for speed.
    """

    @staticmethod
    def forward(ctx: Any, anchor: Any, embed: Any, rows: Sequence[Pooled]) -> torch.Tensor:  # noqa: ARG004
        ctx.embed, ctx.rows, ctx.states = embed, rows, []
        pieces: List[torch.Tensor] = []
        for row in rows:
            ctx.states.append(randomness.tensors(row.places.device))
            pieces.append(embed(row))
        return torch.cat(pieces)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        device = gradient.device
        after = randomness.tensors(device)
        pieces = gradient.split([len(row.counts) for row in ctx.rows])
        for row, state, piece in zip(ctx.rows, ctx.states, pieces):
            randomness.restore_torch(device, state)
            with torch.enable_grad():
                torch.autograd.backward(ctx.embed(row), piece)
        randomness.restore_torch(device, after)
        return None, None, None
