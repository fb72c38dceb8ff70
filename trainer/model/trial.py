"""A kernel of attention tried on a small row, with the heads that a model has, before the model is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from trainer.model.perdocument import by_document

WORST = 0.02  # share of the norm: bfloat16 rounds to 0.4 %, and a sum of products to less than 1 %


class Attention(Protocol):
    """As `trainer.model.attention.DocumentAttention` is."""

    lengths: tuple[int, ...]
    causal: bool

    def enter(self, lengths: tuple[int, ...], borders: torch.Tensor) -> None:
        """The documents of the row to come."""

    def forward(
        self, module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: None
    ) -> tuple[torch.Tensor, None]:
        """As transformers calls it."""


@dataclass(frozen=True)
class Heads:
    """A model's attention: heads of queries, heads of the keys and values that they share, and the width of each."""

    query: int = 4
    shared: int = 2
    width: int = 64

    @staticmethod
    def of(config: Mapping[str, Any]) -> Heads:
        """What a config.json says, as far as it does."""
        values = {**config, **(config.get("text_config") or {})}
        query = values.get("num_attention_heads") or values.get("n_head")
        hidden = values.get("hidden_size") or values.get("n_embd")
        if not isinstance(query, int) or not isinstance(hidden, int):
            return Heads()
        return Heads(query, values.get("num_key_value_heads") or query, values.get("head_dim") or hidden // query)


def trial(
    attention: Attention, device: torch.device, dtype: torch.dtype, heads: Heads | None = None, tokens: int = 24
) -> None:
    """Both passes over a row of the model's own heads. Raises what the kernel raises: a build of torch may lack a
    kernel that it has the function of, a compiler may be missing, and a width may need more shared memory than the chip
    has, which is better known before the model is built.
    """
    inputs = _row(attention, device, dtype, heads or Heads(), tokens)
    out, _ = attention.forward(None, inputs[0], inputs[1], inputs[2], None)
    out.sum().backward()
    if not all(tensor.grad is not None and bool(torch.isfinite(tensor.grad).all()) for tensor in inputs):
        raise ArithmeticError("its gradients are not finite")


def held_against_float32(
    attention: Attention, device: torch.device, dtype: torch.dtype, heads: Heads | None = None, tokens: int = 24
) -> None:
    """Output and gradients of a row beside those of one SDPA per document in float32, which takes other kernels.
    ArithmeticError where they differ by more than `dtype` rounds: by 2 % of their norm.
    """
    inputs = _row(attention, device, dtype, heads or Heads(), tokens)
    exact = [tensor.detach().float().requires_grad_() for tensor in inputs]
    out, _ = attention.forward(None, inputs[0], inputs[1], inputs[2], None)
    q, k, v = (tensor.squeeze(0) for tensor in exact)
    wanted = by_document(q, k, v, attention.lengths, float(q.shape[-1]) ** -0.5, attention.causal)
    weights = torch.randn_like(wanted)
    (out.squeeze(0).float() * weights).sum().backward()
    (wanted * weights).sum().backward()
    pairs = [("output", out.squeeze(0).detach(), wanted.detach())]
    pairs += [(name, a.grad, b.grad) for name, a, b in zip(("dQ", "dK", "dV"), inputs, exact)]
    for name, found, right in pairs:
        off = float((found.float() - right).norm() / right.norm())
        if not off <= WORST:
            raise ArithmeticError(f"its {name} is off by {off:.1%}")


def _row(
    attention: Attention, device: torch.device, dtype: torch.dtype, heads: Heads, tokens: int
) -> list[torch.Tensor]:
    """Queries, keys and values of two documents, which `attention` is told of."""
    first = 2 * tokens // 3
    attention.enter((first, tokens - first), torch.tensor([0, first, tokens], dtype=torch.int32, device=device))
    return [
        torch.randn(1, count, tokens, heads.width, device=device, dtype=dtype).requires_grad_()
        for count in (heads.query, heads.shared, heads.shared)
    ]
