"""Attention in bfloat16 on CPUs: plain matrix products over blocks of queries, one autograd node for a whole row.

torch's flash kernel for CPUs gains little from AVX512_BF16 in its backward pass; oneDNN's matrix products do. Forward
and backward of rows of 2,036 tokens in 6 to 17 documents took 2.2 to 2.4 times as long with that kernel for 4 heads of
64, and 2.9 to 3.1 times for 9 (medians of 20, two cores of an AMD EPYC with AVX512_BF16, torch 2.13;
`python -m tests.benchmarks.blockwise`). Result and gradients are 0.7 % off those in float32, with that kernel 0.5 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import torch

BLOCK = 128  # queries; of 64, 128, 256 and 512 the fastest from 121 to 1,024 tokens
LONGEST = 1024  # tokens: the weights of each document are kept, 2 bytes for each head and pair of tokens


class Blockwise(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    """softmax(scale x query x key') x value within each document, causal or not.

    query: (heads, tokens, width), key and value: (fewer heads, tokens, width); returns (tokens, heads, width).
    Queries that share a key are the rows of one product. Softmax computes in float32 and rounds its result.
    """

    @staticmethod
    def forward(
        ctx: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        lengths: Sequence[int],
        scale: float,
        causal: bool,
    ) -> torch.Tensor:
        heads, tokens, width = query.shape
        shared = key.shape[0]
        out = query.new_empty(tokens, heads, width)
        found = out.transpose(0, 1)
        kept: list[torch.Tensor] = []
        for start, end in _spans(lengths):
            keys, values = key[:, start:end].contiguous(), value[:, start:end].contiguous()
            kept += [keys, values]
            for a, b, seen in _blocks(end - start, causal):
                queries = _fold(query[:, start + a : start + b] * scale, shared)
                scores = torch.bmm(queries, keys[:, :seen].transpose(1, 2)).view(shared, -1, b - a, seen)
                if causal:
                    scores.masked_fill_(_future(b - a, seen), float("-inf"))
                weights = torch.softmax(scores, -1).view(shared, -1, seen)
                found[:, start + a : start + b] = torch.bmm(weights, values[:, :seen]).view(heads, b - a, width)
                kept += [queries, weights]
        ctx.save_for_backward(*kept)
        ctx.shapes, ctx.lengths, ctx.scale, ctx.causal = (heads, shared, tokens, width), lengths, scale, causal
        return out

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        kept = iter(ctx.saved_tensors)
        heads, shared, tokens, width = ctx.shapes
        of_query = gradient.new_empty(heads, tokens, width)
        of_key, of_value = gradient.new_empty(shared, tokens, width), gradient.new_empty(shared, tokens, width)
        gradient = gradient.transpose(0, 1)
        for start, end in _spans(ctx.lengths):
            keys, values = next(kept), next(kept).transpose(1, 2)
            sums = keys.new_zeros(2, *keys.shape, dtype=torch.float32)  # of several blocks: bfloat16 would lose digits
            for a, b, seen in _blocks(end - start, ctx.causal):
                queries, weights = next(kept), next(kept)
                outer = _fold(gradient[:, start + a : start + b], shared)
                inner = torch.bmm(outer, values[:, :, :seen])
                inner = torch._softmax_backward_data(inner, weights, -1, inner.dtype)
                of_query[:, start + a : start + b] = torch.bmm(inner, keys[:, :seen]).view(heads, b - a, width)
                sums[0, :, :seen] += torch.bmm(inner.transpose(1, 2), queries)
                sums[1, :, :seen] += torch.bmm(weights.transpose(1, 2), outer)
            of_key[:, start:end], of_value[:, start:end] = sums[0], sums[1]
        return of_query.mul_(ctx.scale), of_key, of_value, None, None, None


def _spans(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    start = 0
    for length in lengths:
        yield start, start + length
        start += length


def _blocks(length: int, causal: bool) -> Iterator[tuple[int, int, int]]:
    """(first query, end, number of keys they see) of each block."""
    for start in range(0, length, BLOCK):
        end = min(length, start + BLOCK)
        yield start, end, end if causal else length


def _fold(rows: torch.Tensor, shared: int) -> torch.Tensor:
    """(heads, tokens, width) -> (shared, heads / shared x tokens, width)."""
    return rows.reshape(shared, -1, rows.shape[-1])


@lru_cache(maxsize=1024)
def _future(rows: int, seen: int) -> torch.Tensor:
    """True where a key comes after the query; the rows are the last ones of `seen` tokens."""
    return torch.ones(rows, seen, dtype=torch.bool).triu_(seen - rows + 1)
