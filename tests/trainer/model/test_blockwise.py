"""Attention by blocks of queries is attention: exact in float32, off by rounding in bfloat16, in both passes."""

from __future__ import annotations

import pytest
import torch

from tests.benchmarks.blockwise import both_passes, by_blocks, by_torch, draw, farthest
from trainer.model import attention
from trainer.model.attention import DocumentAttention
from trainer.model.blockwise import BLOCK, LONGEST, Blockwise

LENGTHS = (7, 1, 2 * BLOCK + 30, BLOCK, 20)


@pytest.mark.parametrize("shared", [4, 2, 1])
def test_in_float32_it_is_exact(shared: int) -> None:
    inputs = draw(LENGTHS, 4, shared, 16, torch.float32)
    for ours, wanted in zip(
        both_passes(by_blocks, inputs, LENGTHS), both_passes(by_torch, inputs, LENGTHS), strict=True
    ):
        assert torch.allclose(ours, wanted, atol=1e-5)


def test_without_causality_every_token_sees_its_document() -> None:
    inputs = draw(LENGTHS, 4, 2, 16, torch.float32)
    state = DocumentAttention("documents", attention._documents)
    state.enter(LENGTHS, None, causal=False)
    wanted = both_passes(lambda given, _: attention._documents(state, *given, 0.25), inputs, LENGTHS)
    ours = both_passes(lambda given, lengths: Blockwise.apply(*given, lengths, 0.25, False), inputs, LENGTHS)
    for found, expected in zip(ours, wanted, strict=True):
        assert torch.allclose(found, expected, atol=1e-5)


def test_in_bfloat16_it_is_off_by_rounding_as_torch_is() -> None:
    inputs = draw(LENGTHS, 6, 3, 32, torch.bfloat16)
    assert 0 < farthest(by_blocks, inputs, LENGTHS) < 2 * farthest(by_torch, inputs, LENGTHS) < 0.02


def test_bfloat16_on_a_cpu_takes_it_and_long_documents_do_not() -> None:
    found, reason = attention.choose("auto", torch.device("cpu"), torch.bfloat16)
    assert "plain matrix products" in reason
    plain, _ = attention.choose("auto", torch.device("cpu"), torch.float32)
    assert plain._path is attention._documents
    for lengths, node in (((40, 20), "BlockwiseBackward"), ((LONGEST + 1, 20), "CatBackward0")):
        found.enter(lengths, None)
        query, key, value = (tensor[None] for tensor in draw(lengths, 2, 1, 8, torch.bfloat16))
        out, _ = found.forward(None, query, key, value, None)
        nodes, seen = [out.grad_fn], set()
        while nodes:
            one = nodes.pop()
            seen.add(type(one).__name__)
            nodes += [following for following, _ in one.next_functions if following is not None]
        assert node in seen
