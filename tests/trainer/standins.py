"""What stands in for a GPU where there is none, computed for real on a CPU: torch's operator for packed rows by plain
products, a newer FlashAttention behind it, and devices that do as a GPU's do.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest import mock

import torch

from trainer.compute import parallel
from trainer.model import flash

TAKEN: list[str] = []  # which FlashAttention is behind torch's operator; none: its own, the second


def on_the_cpu(module: Any) -> Callable[[], AbstractContextManager[Any]]:
    """What the trainer's module does on a GPU alone it does on a CPU, too."""
    return lambda: mock.patch.object(module, "DEVICES", ("cuda", "cpu"))


def with_narrow_links() -> AbstractContextManager[Any]:
    """Processes on hosts exchange as those on GPUs do."""
    return mock.patch.object(parallel, "DEVICES", ("cuda", "cpu"))


def weights(q: Any, k: Any, causal: bool, scale: float) -> torch.Tensor:
    """softmax(scale x q k') of one document, (heads, tokens, tokens)."""
    scores = torch.einsum("qhd,khd->hqk", q, k) * scale
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[1:], dtype=torch.bool).triu(1), float("-inf"))
    return torch.softmax(scores, -1)


def documents(borders: Any, *rows: Any) -> Iterator[Any]:
    for start, end in itertools.pairwise(borders.tolist()):
        yield tuple(tensor[start:end] for tensor in rows)


def forward(q, k, v, cu_q, cu_k, max_q, max_k, is_causal=False, scale=None, window_size=None, *rest, **named):
    """torch_attn::_varlen_attn: (tokens, heads, width) of documents between the borders."""
    (fourth if TAKEN else second)()
    dtype, kind = q.dtype, torch.float64 if TAKEN else torch.float32
    groups = q.shape[1] // k.shape[1]
    q, k, v = (tensor.to(kind) for tensor in (q, k, v))
    found = [
        torch.einsum("hqk,khd->qhd", weights(a, b, window_size[1] == 0, scale), c)
        for a, b, c in documents(cu_q, q, k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1))
    ]
    return torch.cat(found).to(dtype), torch.zeros(q.shape[1], q.shape[0]), torch.zeros(2, dtype=torch.uint64)


def backward(grad, q, k, v, out, lse, cu_q, cu_k, max_q, max_k, is_causal, rng, scale=None, window_size=None, *rest):
    """By hand: within an operator there is no autograd."""
    groups, found, dtype = q.shape[1] // k.shape[1], [], q.dtype
    grad, q, k, v = (tensor.to(torch.float64 if TAKEN else torch.float32) for tensor in (grad, q, k, v))
    for a, b, c, g in documents(cu_q, q, k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1), grad):
        p = weights(a, b, window_size[1] == 0, scale)
        inner = torch.einsum("qhd,khd->hqk", g, c)
        inner = p * (inner - (inner * p).sum(-1, keepdim=True)) * scale
        of_key, of_value = torch.einsum("hqk,qhd->khd", inner, a), torch.einsum("hqk,qhd->khd", p, g)
        shared = (len(a), k.shape[1], groups, k.shape[2])
        of_query = torch.einsum("hqk,khd->qhd", inner, b)
        found.append((of_query, of_key.reshape(shared).sum(2), of_value.reshape(shared).sum(2)))
    return tuple(torch.cat(pieces).to(dtype) for pieces in zip(*found, strict=True))


@contextmanager
def interpreter() -> Iterator[None]:
    """Triton's kernels are computed by its interpreter, which TRITON_INTERPRET=1 has turned on."""
    from tests.cuda.liger import floats

    floats()
    yield


def second() -> None:
    """FlashAttention 2 was called."""


def fourth() -> None:
    """FlashAttention 4 was called."""


@contextmanager
def varlen() -> Iterator[None]:
    """torch's operator for packed rows has a kernel for CPUs, and the CPU the capability of an H100."""
    from torch.nn.attention import varlen as module

    module._varlen_attn.register_kernel("cpu")(forward)
    module._varlen_attn_backward.register_kernel("cpu")(backward)
    torch._dynamo.reset()
    with mock.patch.object(torch.cuda, "get_device_capability", return_value=(9, 0)):
        yield
    torch._dynamo.reset()


@contextmanager
def with_flash_4() -> Iterator[None]:
    """A kernel that torch's registry knows as FlashAttention 4: the same in float64."""
    from torch.nn import attention

    class Handle:
        def remove(self) -> None:
            TAKEN.clear()

    def taken() -> Handle:
        TAKEN.append("FA4")
        return Handle()

    known = dict(attention._registry._FLASH_ATTENTION_IMPLS)
    attention.register_flash_attention_impl("FA4", register_fn=taken)
    with mock.patch.object(flash, "is_installed", return_value=True):
        yield
    attention.restore_flash_attention_impl(_raise_warn=False)
    attention._registry._FLASH_ATTENTION_IMPLS.update(known)
