"""Arithmetic the loss needs, whatever way it is computed: padding, recomputation and unneeded logits do not count."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from trainer.data.counts import Counts

FORMULA = (
    "(2 + 2 + 2 if trained) x weights of layers x real tokens + 6 x head weights x trained tokens"
    " + 6 x layers x attention width x sum of squared document lengths (causal half)"
)


@dataclass(frozen=True)
class ModelWork:
    """What one model costs.

    `per_token`: FLOPs of all layer matrices; `per_trained`: of the head; `per_square`: of attention.
    """

    per_token: float
    per_trained: float
    per_square: float

    def of(self, counts: Counts) -> float:
        """FLOPs, forward and backward, of steps with these counts."""
        return self.per_token * counts.real + self.per_trained * counts.trained + self.per_square * counts.squares


def weights_in(parameter: Any) -> int:
    """How many weights a tensor holds; those of 4 bits lie two in a byte (bitsandbytes)."""
    packed = getattr(parameter, "quant_state", None)
    return int(math.prod(packed.shape) if packed is not None else parameter.numel())


def work_of(model: Any) -> ModelWork:
    """Frozen matrices (LoRA) need no weight gradient: 4 instead of 6 per weight and token."""
    head = model.get_output_embeddings().weight
    embedding = model.get_input_embeddings().weight
    layers = [p for p in model.parameters() if p.ndim >= 2 and p is not head and p is not embedding]
    config = model.config
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return ModelWork(
        per_token=float(sum((6 if p.requires_grad else 4) * weights_in(p) for p in layers)),
        per_trained=float((6 if head.requires_grad else 4) * head.numel()),
        per_square=6.0 * config.num_hidden_layers * config.num_attention_heads * width,
    )
