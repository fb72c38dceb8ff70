"""Cross-entropy of the trained tokens, summed; the caller divides by the trained tokens of the whole optimizer step.

Logits are computed at trained positions only. In chats that is 30-80 % of the tokens, and the head is the largest
single matrix of a small model. When even those logits are large they are computed in chunks whose gradients are
formed at once, so that no more than one chunk of logits exists at a time and nothing is computed twice. On a GPU that
is done with small ones, too: by counted bytes it passes over the logits 14 bytes an entry, the plain form 46.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from trainer.model.peak import CHUNK_BYTES


@dataclass
class Pieces:
    """How the loss is computed. chunk_bytes: of float32 logits at once; 0: CHUNK_BYTES.

    loss_scale: what the backward pass of float16 will be called with, a float32 scalar on the device; None: about 1.
    """

    chunk_bytes: int = 0
    loss_scale: torch.Tensor | None = None


def token_loss(
    hidden: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor, scale: float, how: Pieces | None = None
) -> torch.Tensor:
    """scale x the sum of -log p(target); hidden (n, width), weight (vocabulary, width), targets (n,).

    float32 scalar.
    """
    how = how or Pieces()
    chunk = how.chunk_bytes or CHUNK_BYTES
    whole = hidden.shape[0] * weight.shape[0] * 4 <= chunk
    if whole and (hidden.device.type != "cuda" or not torch.is_grad_enabled()):
        logits = F.linear(hidden, weight).float()
        return F.cross_entropy(logits, targets, reduction="sum") * scale
    if torch.is_autocast_enabled(hidden.device.type):
        weight = weight.to(torch.get_autocast_dtype(hidden.device.type))
    rows = max(1, chunk // (weight.shape[0] * 4))
    total: torch.Tensor = ChunkedTokenLoss.apply(hidden.to(weight.dtype), weight, targets, scale, rows, how.loss_scale)
    return total


def all_logits_loss(logits: torch.Tensor, positions: torch.Tensor, targets: torch.Tensor, scale: float) -> torch.Tensor:
    """The same as plain trainers compute it: float32 logits everywhere, and -100 where nothing is predicted.

    logits (rows x tokens, vocabulary), positions (n,) of the targets (n,); float32 scalar.
    """
    labels = torch.full((logits.shape[0],), -100, device=logits.device)
    labels[positions] = targets
    return F.cross_entropy(logits.float(), labels, ignore_index=-100, reduction="sum") * scale


class ChunkedTokenLoss(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    """The same value and gradients as the plain form, with one chunk of logits alive.

    hidden (n, width), weight (vocabulary, width), targets (n,); float32 scalar. rows: of one chunk.

    The gradient of a row of logits is softmax minus one-hot, within [-1, 1], times `scale`, some 1e-5. bfloat16 and
    float32 hold it unscaled, and `scale` multiplies the products, which are smaller. float16 would round most of a
    vocabulary's probabilities to zero: there the gradient is formed with `loss_scale`, as the plain form's backward
    pass would see it, and the backward pass takes out again what it was promised.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        weight: torch.Tensor,
        targets: torch.Tensor,
        scale: float,
        rows: int,
        loss_scale: torch.Tensor | None,
    ) -> torch.Tensor:
        half = weight.dtype == torch.float16
        within = _times(scale, loss_scale, hidden.device) if half else None
        after = 1.0 if half else scale
        total = torch.zeros((), dtype=torch.float32, device=hidden.device)
        grad_hidden = torch.empty_like(hidden) if ctx.needs_input_grad[0] else None
        grad_weight: torch.Tensor | None = None
        with torch.autocast(hidden.device.type, enabled=False):
            for start in range(0, hidden.shape[0], rows):
                piece, target = hidden[start : start + rows], targets[start : start + rows, None]
                log_p = torch.log_softmax(_logits(piece, weight), -1)
                right = log_p.gather(1, target)
                total -= right.sum()
                if not any(ctx.needs_input_grad[:2]):
                    continue
                gradient = _gradient(log_p, right, target, within, weight.dtype)
                del log_p
                if grad_hidden is not None:
                    torch.mul(gradient @ weight, after, out=grad_hidden[start : start + rows])
                if ctx.needs_input_grad[1]:
                    # Many small additions would lose bits: the weight's gradient is gathered in float32.
                    product = gradient.t() @ piece
                    grad_weight = product.float() if grad_weight is None else grad_weight.add_(product)
        kept = None if grad_weight is None else grad_weight.mul_(after).to(weight.dtype)
        ctx.save_for_backward(grad_hidden, kept, loss_scale if half else None)
        return total * scale

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        grad_hidden, grad_weight, promised = ctx.saved_tensors
        factor = grad if promised is None else grad / promised
        found = (None if kept is None else kept * factor.to(kept.dtype) for kept in (grad_hidden, grad_weight))
        return *found, None, None, None, None


def _logits(piece: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """piece weight', (rows, vocabulary) in float32: a GPU's product sums in it, and writes that where torch can ask for
    it (2.8 on), which saves a pass over all logits and their rounding.
    """
    if piece.device.type == "cuda" and piece.dtype != torch.float32 and hasattr(torch.ops.aten.mm, "dtype"):
        wide: torch.Tensor = torch.ops.aten.mm.dtype(piece, weight.t(), torch.float32)
        return wide
    return (piece @ weight.t()).float()


def _times(scale: float, loss_scale: torch.Tensor | None, device: torch.device) -> torch.Tensor:
    """The logarithm of both, a float32 scalar on the device."""
    found = torch.full((), math.log(scale) if scale > 0 else -math.inf, device=device)
    return found if loss_scale is None else found + loss_scale.log()


def _gradient(
    log_p: torch.Tensor, right: torch.Tensor, target: torch.Tensor, within: torch.Tensor | None, dtype: torch.dtype
) -> torch.Tensor:
    """softmax minus one-hot, (rows, vocabulary) in `dtype`, times exp(within); overwrites `log_p`."""
    at_target = torch.expm1(right)
    if within is not None:
        at_target = at_target * within.exp()
        log_p = log_p.add_(within)
    gradient = torch.exp(log_p, out=log_p if dtype == log_p.dtype else torch.empty_like(log_p, dtype=dtype))
    return gradient.scatter_(1, target, at_target.to(dtype))
