"""Cross-entropy of the trained tokens, summed; the caller divides by the trained tokens of the whole optimizer step.

Logits are computed at trained positions only. In chats that is 30-80 % of the tokens, and the head is the largest
single matrix of a small model. When even those logits are large they are computed in chunks whose gradients are
formed at once, so that no more than one chunk of logits exists at a time and nothing is computed twice.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from trainer.model.peak import CHUNK_BYTES


def token_loss(hidden: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor, scale: float) -> torch.Tensor:
    """scale x the sum of -log p(target); hidden (n, width), weight (vocabulary, width), targets (n,).

    float32 scalar.
    """
    if hidden.shape[0] * weight.shape[0] * 4 <= CHUNK_BYTES:
        logits = F.linear(hidden, weight).float()
        return F.cross_entropy(logits, targets, reduction="sum") * scale
    if torch.is_autocast_enabled(hidden.device.type):
        weight = weight.to(torch.get_autocast_dtype(hidden.device.type))
    total: torch.Tensor = ChunkedTokenLoss.apply(hidden.to(weight.dtype), weight, targets, scale)
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

    hidden (n, width), weight (vocabulary, width), targets (n,); float32 scalar.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor, scale: float
    ) -> torch.Tensor:
        rows = max(1, CHUNK_BYTES // (weight.shape[0] * 4))
        total = torch.zeros((), dtype=torch.float32, device=hidden.device)
        grad_hidden = torch.empty_like(hidden)
        # Many small bf16 additions would lose bits: the weight's gradient is gathered in float32.
        grad_weight = (
            torch.zeros(weight.shape, dtype=torch.float32, device=weight.device) if ctx.needs_input_grad[1] else None
        )
        with torch.autocast(hidden.device.type, enabled=False):
            for start in range(0, hidden.shape[0], rows):
                piece, target = hidden[start : start + rows], targets[start : start + rows, None]
                log_p = torch.log_softmax((piece @ weight.t()).float(), -1)
                total -= log_p.gather(1, target).sum()
                gradient = log_p.exp_()
                gradient.scatter_add_(1, target, torch.full(target.shape, -1.0, device=gradient.device))
                gradient = gradient.mul_(scale).to(weight.dtype)
                grad_hidden[start : start + rows] = gradient @ weight
                if grad_weight is not None:
                    grad_weight += (gradient.t() @ piece).float()
        ctx.save_for_backward(grad_hidden, *([] if grad_weight is None else [grad_weight.to(weight.dtype)]))
        return total * scale

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        grad_hidden, *rest = ctx.saved_tensors
        grad_weight = rest[0] * grad.to(rest[0].dtype) if rest else None
        return grad_hidden * grad.to(grad_hidden.dtype), grad_weight, None, None
