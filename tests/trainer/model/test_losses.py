"""The loss in pieces: the same value and gradients in every number format, also before float16 has found its scale."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from trainer.model.losses import Pieces, token_loss

ROWS, WIDTH, VOCABULARY = 300, 64, 4096


def inputs(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    hidden = torch.randn(ROWS, WIDTH, generator=draw).to(dtype).requires_grad_()
    weight = (torch.randn(VOCABULARY, WIDTH, generator=draw) * 0.05).to(dtype).requires_grad_()
    return hidden, weight, torch.randint(VOCABULARY, (ROWS,), generator=draw)


def exact(scale: float) -> list[torch.Tensor]:
    hidden, weight, targets = inputs(torch.float32)
    given = [tensor.detach().double().requires_grad_() for tensor in (hidden, weight)]
    loss = F.cross_entropy(F.linear(*given), targets, reduction="sum") * scale
    return [loss.detach(), *torch.autograd.grad(loss, given)]


def off(found: torch.Tensor, right: torch.Tensor) -> float:
    return float((found.double() - right).norm() / right.norm())


@pytest.mark.parametrize(("dtype", "most"), [(torch.float32, 1e-5), (torch.bfloat16, 2e-2), (torch.float16, 3e-3)])
@pytest.mark.parametrize("loss_scale", [1024.0, 65536.0])
@pytest.mark.parametrize("divisor", [300, 16_384, 131_072])
def test_gradients_in_pieces(dtype: torch.dtype, most: float, loss_scale: float, divisor: int) -> None:
    """float16: pieces formed before the scale is known would be infinite at 65,536, and at a divisor of 16,384 the
    head's gradient would be flushed to zero but for two entries in a hundred.
    """
    scale = 1 / divisor
    hidden, weight, targets = inputs(dtype)
    factor = torch.tensor(loss_scale if dtype == torch.float16 else 1.0)
    how = Pieces(VOCABULARY * 4 * 70, factor if dtype == torch.float16 else None)  # 70 rows at a time
    loss = token_loss(hidden, weight, targets, scale, how)
    found = torch.autograd.grad(loss * factor, [hidden, weight])
    right = exact(scale)
    assert float(loss.detach()) == pytest.approx(float(right[0]), rel=5e-3)
    for gradient, wanted in zip(found, right[1:], strict=True):
        assert bool(torch.isfinite(gradient).all())
        assert off(gradient.double() / float(factor), wanted) < most


def test_a_loss_scale_that_grew_since_is_accounted_for() -> None:
    """What the backward pass is called with decides, and what was promised is taken out."""
    hidden, weight, targets = inputs(torch.float16)
    loss = token_loss(hidden, weight, targets, 1e-3, Pieces(VOCABULARY * 4 * 70, torch.tensor(512.0)))
    once = torch.autograd.grad(loss * 512.0, [hidden, weight], retain_graph=True)
    twice = torch.autograd.grad(loss * 1024.0, [hidden, weight])
    for left, right in zip(once, twice, strict=True):
        assert torch.equal(2 * left, right)


def test_frozen_heads_and_evaluations_form_no_gradient_for_them() -> None:
    hidden, weight, targets = inputs(torch.float32)
    pieces = Pieces(VOCABULARY * 4 * 70)
    frozen = token_loss(hidden, weight.detach(), targets, 0.1, pieces)
    frozen.backward()
    assert hidden.grad is not None
    with torch.no_grad():
        assert float(token_loss(hidden, weight, targets, 0.1, pieces)) == pytest.approx(float(frozen.detach()))
