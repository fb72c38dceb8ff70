"""The attention paths made for CUDA, as far as a CPU can carry them out: their calls, number formats and results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

from tests.trainer.conftest import TINY
from trainer.model import attention, build
from trainer.model.attention import DocumentAttention, varlen_path
from trainer.options.settings import Settings

LENGTHS = (5, 1, 11)


def _reference(q: Any, k: Any, v: Any, borders: Any, scale: float, causal: bool) -> Any:
    """(tokens, heads, width), document by document, in plain arithmetic."""
    rows = []
    for start, end in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
        one = [tensor[start:end].transpose(0, 1) for tensor in (q, k, v)]
        rows.append(F.scaled_dot_product_attention(*one, is_causal=causal, scale=scale, enable_gqa=True))
    return torch.cat(rows, 1).transpose(0, 1)


# The signatures of varlen_attn in three releases, by torch's own sources.
def _torch_2_10(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, is_causal=False, return_aux=None):
    assert query.shape[1] == key.shape[1], "no grouped heads before 2.12"
    return _reference(query, key, value, cu_seq_q, query.shape[-1] ** -0.5, is_causal)


def _torch_2_11(
    query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, return_aux=None, scale=None, window_size=(-1, -1)
):
    assert query.shape[1] == key.shape[1], "no grouped heads before 2.12"
    return _reference(query, key, value, cu_seq_q, scale, window_size == (-1, 0))


def _torch_2_12(
    query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, return_aux=None, scale=None, window_size=(-1, -1),
    enable_gqa=False, seqused_k=None, block_table=None, num_splits=None,
):  # fmt: skip
    assert enable_gqa
    return _reference(query, key, value, cu_seq_q, scale, window_size == (-1, 0))


def _inputs() -> tuple[Any, ...]:
    draw = torch.Generator().manual_seed(0)
    shapes = ((4, 8), (2, 8), (2, 8))
    return tuple(
        torch.randn(1, heads, sum(LENGTHS), width, generator=draw, requires_grad=True) for heads, width in shapes
    )


def _borders() -> torch.Tensor:
    return torch.tensor([0, *torch.tensor(LENGTHS).cumsum(0).tolist()], dtype=torch.int32)


def _outcome(path: Any, causal: bool) -> tuple[torch.Tensor, ...]:
    """Output and gradients."""
    state = DocumentAttention("under test", path)
    state.enter(LENGTHS, _borders(), causal)
    tensors = _inputs()
    out, _ = state.forward(None, *tensors, None, scaling=0.3)
    out.square().sum().backward()
    return (out, *(tensor.grad for tensor in tensors))


PATHS = {
    "varlen of torch 2.10": lambda: varlen_path(_torch_2_10),
    "varlen of torch 2.11": lambda: varlen_path(_torch_2_11),
    "varlen of torch 2.12": lambda: varlen_path(_torch_2_12),
}


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("name", PATHS)
def test_every_path_gives_what_documents_alone_give(name: str, causal: bool) -> None:
    for found, expected in zip(_outcome(PATHS[name](), causal), _outcome(attention._documents, causal), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("causal", [True, False])
def test_flex_gives_what_documents_alone_give(causal: bool) -> None:
    """Its backward pass exists on GPUs only."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    found = []
    for path in (attention._flex(flex_attention, create_block_mask), attention._documents):
        state = DocumentAttention("under test", path)
        state.enter(LENGTHS, _borders(), causal)
        with torch.no_grad():
            found.append(state.forward(None, *_inputs_without_gradient(), None, scaling=0.3)[0])
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)


def _inputs_without_gradient() -> tuple[Any, ...]:
    return tuple(tensor.detach() for tensor in _inputs())


def _tiny(folder: Path, **values: Any) -> Settings:
    (folder / "tiny.json").write_text(json.dumps(TINY), encoding="utf-8")
    return Settings(model_config=str(folder / "tiny.json"), threads=1, device="cpu", **values)


@pytest.mark.parametrize("rank", [-1, 4])
def test_kernels_that_autocast_does_not_know_get_its_number_format(tmp_path: Path, rank: int) -> None:
    """Rotation leaves queries and keys in float32 beside bfloat16 values, which the CUDA kernels refuse."""
    from trainer.model import lora

    seen = set()

    def kernel(state: Any, query: Any, key: Any, value: Any, scale: float) -> Any:
        seen.add((query.dtype, key.dtype, value.dtype))
        return attention._documents(state, query, key, value, scale)

    settings = _tiny(tmp_path, precision="bfloat16", lora_rank=rank)
    trainee = build.build(settings, None)
    lora.add(trainee, settings)
    assert trainee.attention is not None
    trainee.attention._path = kernel
    build.check(trainee)
    assert seen == {(torch.bfloat16,) * 3}


def test_the_varlen_operator_of_this_torch_takes_what_the_model_gives_it(tmp_path: Path) -> None:
    """Shapes and number formats through the real operator, forward and backward, without computing anything."""
    from torch.nn.attention.varlen import varlen_attn

    state = DocumentAttention("varlen", varlen_path(varlen_attn))
    name, _, _ = attention.install(state)
    with FakeTensorMode():
        plain = build.load_model(_tiny(tmp_path), None, name)
        trainee = build.Trainee(plain, torch.device("cpu"), torch.bfloat16, state, [])
        ids = torch.ones(1, sum(LENGTHS), dtype=torch.int64)
        state.enter(LENGTHS, torch.ones(len(LENGTHS) + 1, dtype=torch.int32))
        with trainee.computing():
            out = plain.get_decoder()(input_ids=ids, position_ids=ids, use_cache=False).last_hidden_state
        out.sum().backward()
        assert out.shape == (1, sum(LENGTHS), TINY["hidden_size"])
        layers = plain.get_decoder().layers
        assert all(p.grad is not None and p.grad.shape == p.shape for p in layers.parameters())


def test_what_is_compiled_has_not_been_run_on_the_probes(tmp_path: Path) -> None:
    """The probes' few tokens must not be the first shape that the compiler sees, nor cost a compilation."""
    from torch._dynamo.utils import counters

    counters.clear()
    build.build(_tiny(tmp_path, compile="on"), None)
    assert not counters["frames"]


@pytest.mark.parametrize("flag", ["highest", "high", "medium"])
def test_probes_do_not_depend_on_the_precision_flag(flag: str) -> None:
    from trainer.measure import reference

    seen = []

    def recorded(*_: Any) -> float:
        seen.append(torch.get_float32_matmul_precision())
        return 1.0

    before, matmul = torch.get_float32_matmul_precision(), reference._matmul
    torch.set_float32_matmul_precision(flag)
    reference._matmul = recorded
    try:
        reference._float32(torch.device("cpu"), 8, "highest")
        assert seen == ["highest"]
        assert torch.get_float32_matmul_precision() == flag
    finally:
        reference._matmul = matmul
        torch.set_float32_matmul_precision(before)


def test_casts_of_the_weights_are_not_counted_for_every_token(tmp_path: Path) -> None:
    """Autocast keeps a copy of every weight, which a pass of any length needs once: bfloat16 keeps less per token."""
    from trainer.model import memory

    found = {}
    for precision in ("float32", "bfloat16"):
        # torch's own attention: ours for CPUs keeps its weights in bfloat16, much of what so small a model keeps
        trainee = build.build(_tiny(tmp_path, precision=precision, packing=False), None)
        found[precision] = memory.footprint(trainee).inside
    assert found["bfloat16"] < found["float32"]
