"""The attention paths that run on a CPU agree: one SDPA per document, FlexAttention's block mask, one dense mask."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from trainer.model import attention
from trainer.model.attention import DocumentAttention

LENGTHS = (7, 1, 20, 4)


def tensors(kv_heads: int) -> list:
    draw = torch.Generator().manual_seed(2)
    shapes = ((1, 4, 32, 16), (1, kv_heads, 32, 16), (1, kv_heads, 32, 16))
    return [torch.randn(shape, generator=draw) for shape in shapes]


def dense(query, key, value, causal: bool):
    owner = torch.repeat_interleave(torch.arange(len(LENGTHS)), torch.tensor(LENGTHS))
    mask = owner[:, None] == owner[None]
    mask = mask.tril() if causal else mask
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, enable_gqa=True).transpose(1, 2)


def by(path, query, key, value, causal: bool):
    state = DocumentAttention("test", path)
    borders = F.pad(torch.cumsum(torch.tensor(LENGTHS), 0), (1, 0)).to(torch.int32)
    state.enter(LENGTHS, borders, causal)
    return state.forward(None, query, key, value, None)[0]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kv_heads", [4, 2])
def test_documents_and_a_dense_mask_agree_with_gradients(causal: bool, kv_heads: int) -> None:
    results = []
    for compute in (dense, lambda *given: by(attention._documents, *given)):
        inputs = [tensor.requires_grad_() for tensor in tensors(kv_heads)]
        out = compute(*inputs, causal)
        results.append([out.detach(), *torch.autograd.grad(out.square().sum(), inputs)])
    for left, right in zip(*results, strict=True):
        assert torch.allclose(left, right, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kv_heads", [4, 2])
def test_flex_attention_agrees(causal: bool, kv_heads: int) -> None:
    """Uncompiled, as it runs without a GPU; the mask is the one that the compiled kernel gets."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    with torch.no_grad():
        path = attention._flex(flex_attention, create_block_mask)
        found = by(path, *tensors(kv_heads), causal)
        assert torch.allclose(found, dense(*tensors(kv_heads), causal), atol=1e-5)
