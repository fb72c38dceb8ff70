"""One vector per document, and the loss that pulls a query towards its passage and away from all others of its batch.

InfoNCE over cosines, as GritLM has it (arXiv 2402.09906): every passage of the batch, hard negatives included, is a
negative for every query but its own. Across processes the batch is the union of theirs: each has the loss of its own
queries against everybody's passages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

import torch
import torch.nn.functional as F

from trainer.compute import randomness
from trainer.data.pairs import Pooled


def mean_pooled(hidden: torch.Tensor, row: Pooled) -> torch.Tensor:
    """(documents, width): the mean of each document's counted states, in float32. hidden: (slots, width)."""
    return torch.segment_reduce(hidden[row.places].float(), "mean", lengths=row.counts, axis=0, unsafe=True)


def info_nce(queries: torch.Tensor, passages: torch.Tensor, targets: torch.Tensor, temperature: float) -> torch.Tensor:
    """The sum over queries of -log softmax(cosine / temperature) at its target; float32 scalar.

    queries (n, width), passages (m, width), targets (n,) indices of passages.
    """
    with torch.autocast(queries.device.type, enabled=False):
        scores = F.normalize(queries.float()) @ F.normalize(passages.float()).t() / temperature
        return F.cross_entropy(scores, targets, reduction="sum")


def gather_rows(local: torch.Tensor, counts: Sequence[int]) -> torch.Tensor:
    """The rows of every process, in rank order, with gradients: what any process's loss says about a row reaches the
    process that computed it, summed. (n, width) to (sum of `counts`, width); counts: rows of each process, which all
    know without asking each other, since a GPU's answer would have to be waited for.
    """
    if len(counts) < 2:
        return local
    rows: torch.Tensor = GatheredRows.apply(local, counts)
    return rows


def processes() -> int:
    """How many processes compute together."""
    import torch.distributed as dist

    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


class GatheredRows(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    """All-gather whose backward pass adds up the processes' gradients: (n, ...) to (sum of all n, ...), and back."""

    @staticmethod
    def forward(ctx: Any, local: torch.Tensor, counts: Sequence[int]) -> torch.Tensor:
        import torch.distributed as dist

        filled = local.new_zeros((max(counts), *local.shape[1:]))
        filled[: local.shape[0]] = local
        everyone = [torch.empty_like(filled) for _ in counts]
        dist.all_gather(everyone, filled)
        before = sum(counts[: dist.get_rank()])
        ctx.mine = slice(before, before + local.shape[0])
        return torch.cat([piece[:count] for piece, count in zip(everyone, counts)])

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        import torch.distributed as dist

        total = gradient.contiguous().clone()
        dist.all_reduce(total)
        return total[ctx.mine], None


def embed_rows(rows: Sequence[Pooled], embed: Callable[[Pooled], torch.Tensor], again: bool) -> torch.Tensor:
    """(documents, width) of all rows. `again`: by GradCache, whose memory is that of one row whatever the batch."""
    if not again:
        return torch.cat([embed(row) for row in rows])
    anchor = torch.zeros((), requires_grad=True)  # gives autograd a reason to call backward
    vectors: torch.Tensor = GradCache.apply(anchor, embed, rows)
    return vectors


class GradCache(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    """Embed row by row without a graph; in the backward pass compute each row again, with its graph, and go through
    it with the gradient that the whole batch's loss gave to its vectors (Gao et al., arXiv 2101.06983). Forward gives
    (documents, width) and backward takes that; the anchor is a scalar without a gradient of its own.

    Random states are put back before each repetition: without that, dropout would draw other masks than those the
    loss has seen, and the gradients would be wrong. A step in three rows took 1.2 times the CPU time of one row (median
    of 6 interleaved steps of chat-5m on a busy core, 0.95 to 1.48): for batches that do not fit, not for speed.
    """

    @staticmethod
    def forward(ctx: Any, anchor: torch.Tensor, embed: Any, rows: Sequence[Pooled]) -> torch.Tensor:  # noqa: ARG004
        ctx.embed, ctx.rows, ctx.states = embed, rows, []
        pieces: list[torch.Tensor] = []
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
