"""In the place of the flash-attn package, which no machine without a GPU can build: a function that is called like its
own (flash_attn/flash_attn_interface.py of 2.8), refuses what its kernels refuse (csrc/flash_attn/flash_api.cpp,
mha_varlen_fwd), and has torch's varlen_attn for a kernel. So what the trainer hands over is shown, and no more.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import torch


def flash_attn_varlen_func(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, cu_seqlens_q: torch.Tensor, cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int, max_seqlen_k: int, dropout_p: float = 0.0, softmax_scale: float | None = None,
    causal: bool = False, window_size: tuple[int, int] = (-1, -1),
) -> torch.Tensor:  # fmt: skip
    """(tokens, heads, width) each, keys and values of fewer heads; borders int32. ValueError as its kernels refuse."""
    from torch.nn.attention.varlen import varlen_attn

    refused = {
        "neither float16 nor bfloat16": q.dtype not in (torch.float16, torch.bfloat16),
        "not of one number format": not q.dtype == k.dtype == v.dtype,
        "borders are not int32": {cu_seqlens_q.dtype, cu_seqlens_k.dtype} != {torch.int32},
        "not on a GPU": q.device.type != "cuda",
        "the last dimension is not contiguous": any(tensor.stride(-1) != 1 for tensor in (q, k, v)),
        "not (tokens, heads, width)": any(tensor.dim() != 3 for tensor in (q, k, v)),
        "wider than 256": q.shape[-1] > 256,
        "heads of keys do not divide those of queries": q.shape[1] % k.shape[1] != 0,
        "dropout or a window": dropout_p != 0.0 or window_size != (-1, -1),
    }
    for why, is_so in refused.items():
        if is_so:
            raise ValueError(why)
    out: torch.Tensor = varlen_attn(
        q.contiguous(), k.contiguous(), v.contiguous(), cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
        scale=softmax_scale, window_size=(-1, 0) if causal else (-1, -1), enable_gqa=q.shape[1] != k.shape[1],
    )  # fmt: skip
    return out


@contextmanager
def installed(attention: Any) -> Iterator[None]:
    """While this lasts the package is there, where `attention` is the setting that asks for it."""
    if attention != "flash-attn":
        yield
        return
    package: Any = ModuleType("flash_attn")
    package.__spec__ = ModuleSpec("flash_attn", None)  # transformers looks for it, as for any package
    package.flash_attn_varlen_func = flash_attn_varlen_func
    before = sys.modules.get("flash_attn")
    sys.modules["flash_attn"] = package
    try:
        yield
    finally:
        sys.modules.pop("flash_attn")
        if before is not None:
            sys.modules["flash_attn"] = before
