"""Attention inside each document of a packed row on the CPU, as one autograd node.

Short documents go through plain batched matrix products, long ones through torch's CPU flash kernel: below about 400
tokens the kernel's fixed costs outweigh what it saves (float32, 4 heads of 64, 2 cores: 130 tokens 0.6 ms against 1.1
ms forward and backward; 512 tokens 6.6 against 8.1 ms; 1,024 tokens 41 against 32 ms; measured by `python -m
trainer.benchmarks.cpu_attention`).
"""

from __future__ import annotations

from typing import Any, List, Tuple

import torch

SHORT = 512  # tokens


class DocumentMath(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    """query, key, value (heads, tokens, width) float32 -> (tokens, heads, width); causal or full within each
    document.
    """

    @staticmethod
    def forward(
        ctx: Any, query: Any, key: Any, value: Any, lengths: Tuple[int, ...], scale: float, causal: bool
    ) -> torch.Tensor:
        heads, total, width = query.shape
        out = query.new_empty(total, heads, width)
        kept: List[torch.Tensor] = []
        short = [length for length in lengths if length <= SHORT]
        hidden = _future(max(short), query) if causal and short else None
        start = 0
        for length in lengths:
            span = slice(start, start + length)
            q, k, v = query[:, span], key[:, span], value[:, span]
            if length <= SHORT:
                scores = torch.bmm(q, k.transpose(1, 2)).mul_(scale)
                if hidden is not None:
                    scores += hidden[:length, :length]
                weights = torch.softmax(scores, -1)
                out[span] = torch.bmm(weights, v).transpose(0, 1)
                kept.append(weights)
            else:
                piece, normaliser = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
                    q[None], k[None], v[None], 0.0, causal, scale=scale
                )
                out[span] = piece[0].transpose(0, 1)
                kept.append(normaliser)
            start += length
        ctx.save_for_backward(query, key, value, out, *kept)
        ctx.lengths, ctx.scale, ctx.causal = lengths, scale, causal
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        query, key, value, out, *kept = ctx.saved_tensors
        scale = ctx.scale
        # The same layout as the incoming views (tokens outermost), so that no copy follows in the caller's backward.
        grads = [torch.empty_like(query.transpose(0, 1), memory_format=torch.contiguous_format) for _ in range(3)]
        start = 0
        for length, extra in zip(ctx.lengths, kept):
            span = slice(start, start + length)
            q, k, v, g = query[:, span], key[:, span], value[:, span], grad[span].transpose(0, 1)
            if length <= SHORT:
                grad_scores = torch._softmax_backward_data(
                    torch.bmm(g, v.transpose(1, 2)), extra, -1, torch.float32
                ).mul_(scale)
                pieces = (
                    torch.bmm(grad_scores, k),
                    torch.bmm(grad_scores.transpose(1, 2), q),
                    torch.bmm(extra.transpose(1, 2), g),
                )
            else:
                whole = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
                    g[None],
                    q[None],
                    k[None],
                    v[None],
                    out[span].transpose(0, 1)[None],
                    extra,
                    0.0,
                    ctx.causal,
                    scale=scale,
                )
                pieces = tuple(piece[0] for piece in whole)
            for target, piece in zip(grads, pieces):
                target[span] = piece.transpose(0, 1)
            start += length
        return (*(gradient.transpose(0, 1) for gradient in grads), None, None, None)


def _future(size: int, like: torch.Tensor) -> torch.Tensor:
    """-inf above the diagonal, 0 elsewhere."""
    return torch.full((size, size), float("-inf"), dtype=like.dtype).triu_(1)
