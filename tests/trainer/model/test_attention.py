"""The attention paths that run on a CPU agree: one SDPA per document, FlexAttention's block mask, one dense mask."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from trainer.errors import TrainerError
from trainer.model import attention
from trainer.model.attention import DocumentAttention, changing_shapes
from trainer.model.trial import Heads, trial

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


@pytest.mark.parametrize(
    ("config", "heads"),
    [
        ({"hidden_size": 576, "num_attention_heads": 9, "num_key_value_heads": 3}, Heads(9, 3, 64)),
        (
            {"hidden_size": 1024, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128},
            Heads(16, 8, 128),
        ),
        ({"n_embd": 768, "n_head": 12}, Heads(12, 12, 64)),
        ({"text_config": {"hidden_size": 640, "num_attention_heads": 8}}, Heads(8, 8, 80)),
        ({}, Heads()),
    ],
)
def test_a_kernel_is_tried_with_the_models_own_heads(config: dict, heads: Heads) -> None:
    assert Heads.of(config) == heads
    seen = []

    def path(state, query, key, value, scale):
        seen.append((tuple(query.shape), tuple(key.shape), state.lengths))
        key, value = (tensor.repeat_interleave(heads.query // heads.shared, 0) for tensor in (key, value))
        return torch.nn.functional.scaled_dot_product_attention(query, key, value).transpose(0, 1)

    trial(DocumentAttention("tried", path), torch.device("cpu"), torch.float32, heads, 30)
    assert seen == [((heads.query, 30, heads.width), (heads.shared, 30, heads.width), (20, 10))]


@pytest.mark.parametrize(
    ("capability", "dtype", "tried"),
    [
        ((7, 5), torch.float16, []), ((9, 0), torch.float32, []),
        ((8, 0), torch.bfloat16, ["varlen", "flash-attn", "flex"]),
    ],
)  # fmt: skip
def test_flex_is_not_chosen_by_itself_where_its_kernel_spills(
    capability: tuple, dtype: torch.dtype, tried: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`tests/cuda/test_generated_kernels.py` has its kernels there; asked for, it is tried."""
    seen = []

    def missing(name: str):
        def find():
            seen.append(name)
            raise ImportError(name)

        return find

    for name, function in (("varlen", "_find_varlen"), ("flash-attn", "_find_flash"), ("flex", "_find_flex")):
        monkeypatch.setattr(attention, function, missing(name))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    chosen, reason = attention.choose("auto", torch.device("cuda"), dtype)
    assert (chosen.name, seen) == ("documents", tried)
    assert (f"flex: {attention.SPILLS}" in reason) == (not tried)
    with pytest.raises(TrainerError, match="attention=flex: flex: ImportError"):
        attention.choose("flex", torch.device("cuda"), dtype)


def test_cudnn_is_left_out_where_shapes_change_and_is_back_after() -> None:
    cuda = torch.backends.cuda
    assert cuda.cudnn_sdp_enabled()
    with changing_shapes(torch.device("cuda")):
        assert not cuda.cudnn_sdp_enabled()
        assert cuda.flash_sdp_enabled()
    assert cuda.cudnn_sdp_enabled()
    with changing_shapes(torch.device("cpu")):
        assert cuda.cudnn_sdp_enabled()


def test_cudnn_stays_where_nothing_else_is_on() -> None:
    cuda = torch.backends.cuda
    others = (cuda.enable_flash_sdp, cuda.enable_mem_efficient_sdp, cuda.enable_math_sdp)
    for switch in others:
        switch(False)
    try:
        with changing_shapes(torch.device("cuda")):
            assert cuda.cudnn_sdp_enabled()
    finally:
        for switch in others:
            switch(True)
