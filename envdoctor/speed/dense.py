"""The work of a training step of any dense decoder, from its shape: what nobody counted operator by operator.

Products and attention follow from the shape exactly; the bytes of everything else depend on how the model is written,
and are told as a figure for each token, layer and unit of width.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from envdoctor.knowledge.work import Work

Style = Literal["autocast", "eager", "lean", "fused"]

TRAFFIC: Mapping[Style, tuple[float, float]] = {
    "autocast": (500.0, 58.0), "eager": (230.0, 40.0), "lean": (100.0, 10.0), "fused": (42.0, 16.0),
}  # fmt: skip
"""Bytes that a step's kernels other than products and attention read and write for each token and layer: for each unit
of its width, and of the width within its feed-forward part.

autocast: a gated model of transformers under bfloat16 autocast with a float32 residual stream, kernel by kernel: fitted
to the bundled workloads, which are counted (``knowledge/work.toml``). eager: such a model in bfloat16 throughout. lean:
norms and activations that are one kernel each. fused: layers that are compiled, or written by hand, to one or two
passes. The last three by adding up what their kernels read and write.
"""
LOGITS: Mapping[Style, float] = {"autocast": 29.0, "eager": 30.0, "lean": 30.0, "fused": 12.0}
"""Bytes for each logit of a trained token: made, widened, normalised, and their gradient."""
CHUNK_BYTES, CHUNK, CHUNK_LOGITS = 256 << 20, 10.0, 22.0
"""A loss computed in pieces of so many bytes of logits (`trainer/model/losses.py`); the bytes that each piece moves for
each weight of the head, whose gradient is gathered in float32, and for each logit."""
UPDATE = 36.0
"""Bytes of AdamW's update for each weight, and of the gradient's norm before it, all in float32: weight, gradient and
two moments read and written, the gradient read once more."""
CASTS = 6.0
"""Bytes for each weight that a step narrows: read as float32, written as bfloat16."""
KERNELS: Mapping[Style, float] = {"autocast": 140.0, "eager": 110.0, "lean": 70.0, "fused": 40.0}
"""Kernels of a step for each layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoder:
    """A dense decoder. ``inner``: width within its feed-forward part; ``gated``: that has three matrices, not two."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    inner: int
    vocabulary: int
    gated: bool = True
    head_width: int | None = None

    @property
    def attended(self) -> int:
        """Width of all queries together."""
        return self.heads * (self.head_width or self.width // self.heads)

    @property
    def layer_weights(self) -> float:
        """Weights of the matrices of all layers."""
        keys = self.attended * self.kv_heads / self.heads
        of_attention = self.width * (2.0 * self.attended + 2.0 * keys)
        return self.layers * (of_attention + (3.0 if self.gated else 2.0) * self.width * self.inner)

    @property
    def weights(self) -> float:
        """The same with one embedding, which the head shares or has of its own."""
        return self.layer_weights + float(self.width * self.vocabulary)


def step_work(
    decoder: Decoder,
    *,
    tokens: float,
    squares: float,
    trained: float | None = None,
    precision: str = "bfloat16",
    style: Style = "autocast",
    recomputed: float = 0.0,
    partly: float = 0.0,
    shards: int = 1,
) -> Work:
    """One optimizer step over ``tokens``, with ``squares`` the sum of squared lengths of documents that see each other.

    ``trained``: predicted tokens (None: all). ``recomputed``: share of the forward pass that is computed again,
    ``partly``: and of that whose products and attention are not.
    ``shards``: devices that share the update.
    ``precision`` "fp8" is that of the layers; head and attention compute in bfloat16.
    """
    predicted = tokens if trained is None else trained
    within = (6.0 + 2.0 * recomputed) * decoder.layer_weights * tokens
    head = 6.0 * decoder.width * decoder.vocabulary * predicted
    # Causal, forward and backward, which has five products for two: 4 x (1 + 2.5) / 2.
    attention = (7.0 + 2.0 * recomputed) * decoder.layers * decoder.attended * squares
    other = "bfloat16" if precision == "fp8" else precision
    products = {precision: within + head} if other == precision else {precision: within, other: head}
    per_width, per_inner = TRAFFIC[style]
    per_token = per_width * decoder.width + per_inner * decoder.inner
    of_layers = (1.0 + (recomputed + partly) / 3.0) * tokens * decoder.layers * per_token
    of_head = LOGITS[style] * predicted * decoder.vocabulary
    if style == "autocast" and predicted * decoder.vocabulary * 4 > CHUNK_BYTES:
        pieces = math.ceil(predicted / max(1, CHUNK_BYTES // (decoder.vocabulary * 4)))
        of_head = CHUNK_LOGITS * predicted * decoder.vocabulary + CHUNK * pieces * decoder.width * decoder.vocabulary
    of_update = UPDATE * decoder.weights / shards
    return Work(
        precision=other,
        tokens=tokens,
        trained=predicted,
        squares=squares,
        parameters=decoder.weights,
        products=products,
        attention=attention,
        bytes=of_layers + of_head + CASTS * decoder.weights + of_update,
        optimizer_bytes=of_update,
        launches=KERNELS[style] * decoder.layers * (1.0 + (recomputed + partly) / 3.0),
    )
