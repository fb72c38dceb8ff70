"""How much memory a training step takes at its worst moment, from a few numbers about the model.

The trainer counts those numbers on its model (`trainer.model.memory`); the doctor takes them from a configuration and
from `kept.json` beside this file, and loads this file by its path, as it does `trainer/flags.py`. So there is one
formula, and it imports the standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

RUNGS = ("none", "alternate", "full")
CHUNK_BYTES = 256 << 20  # float32 logits; above this the loss is computed in chunks of so many (`trainer.model.losses`)
# Of what one layer keeps, the part that the gradients of its own tensors take beside it at most, in its backward pass.
IN_FLIGHT = 0.6
# float32 logits, or a chunk of them, beside each other at most: whole, the log-softmax and the gradients before and
# behind it; in chunks, those of the chunk before, still held, too.
WHOLE, CHUNKED = 3.0, 3.5


class Footprint(NamedTuple):
    """What one model needs, bytes.

    weights, moments, gradients: of the whole model (gradients: once all of them are there, with copies).
    casts: of weights in the compute precision, which a pass keeps until it has come back to them.
    inside, outside: kept per token for the backward pass within and around the `layers` decoder layers; entry: inputs
    of all layers, per token; stream: the residual stream, per token; logit: one position's logits in float32.
    embedding, head: gradients of those two matrices, 0 where frozen; tied: they are one matrix.
    """

    weights: float
    moments: float
    gradients: float
    casts: float
    layers: int
    inside: float
    outside: float
    entry: float
    stream: float
    logit: float
    embedding: float = 0.0
    head: float = 0.0
    tied: bool = False

    @property
    def fixed(self) -> float:
        """Weights, gradients, moments and casts: what is there whatever the number of tokens."""
        return self.weights + self.moments + self.gradients + self.casts

    def kept(self, rung: str) -> float:
        """Bytes per token that lie until the backward pass: with every layer recomputed its inputs (`entry`), of
        every other layer half of each (Korthikanti et al., arXiv 2205.05198, section 4).
        """
        inner = {"none": self.inside, "alternate": (self.inside + self.entry) / 2, "full": self.entry}[rung]
        return self.outside + inner

    def loss(self, trained: float) -> float:
        """Bytes that the loss of so many positions takes for itself (`trainer.model.losses`)."""
        whole = self.logit * trained
        if whole <= CHUNK_BYTES:
            return WHOLE * whole + 1.5 * self.head
        # The head's gradient is gathered in float32, and each chunk's share of it is there in both formats.
        return self.head + max(CHUNKED * CHUNK_BYTES, 1.5 * CHUNK_BYTES + 1.5 * self.head)

    def at(self, rung: str, slots: float, trained: float, accumulate: int = 1) -> Mapping[str, Mapping[str, float]]:
        """Bytes by part, at each moment of a step that may be its worst: `slots` tokens at once, `trained` of them
        predicted.

        Activations only shrink and gradients only grow on the way back, layer by layer alike, so that the most is at
        one of its ends. accumulate: micro-batches of a step; from the second on all gradients are there all the time.
        """
        layers = max(1, self.layers)
        layer, entry = self.inside / layers, self.entry / layers
        again = 0.0 if rung == "none" else layer
        work = slots * (again + IN_FLIGHT * layer + 2 * self.stream)
        kept, last = slots * self.kept(rung), slots * (self.outside + (layer if rung == "none" else entry))
        held = self.gradients if accumulate > 1 else 0.0
        early = held or self.head
        late = held or self.gradients - (0.0 if self.tied else self.embedding)
        moments = {
            "loss": _parts(self, self.casts, held, kept, self.loss(trained)),
            "first layer back": _parts(self, self.casts, early, kept + work, 0.0),
            "last layer back": _parts(self, self.casts / layers, late, last + work, 0.0),
            "embedding": _parts(self, 0.0, late + self.embedding, slots * self.stream, 0.0),
            "optimizer": _parts(self, 0.0, self.gradients, 0.0, 0.0),
        }
        return moments

    def worst(self, rung: str, slots: float, trained: float, accumulate: int = 1) -> tuple[str, Mapping[str, float]]:
        """The moment of a step that takes most, and its bytes by part."""
        moments = self.at(rung, slots, trained, accumulate)
        return max(moments.items(), key=lambda item: sum(item[1].values()))

    def peak(self, rung: str, slots: float, trained: float, accumulate: int = 1) -> float:
        """Bytes at the worst moment of a step."""
        return sum(self.worst(rung, slots, trained, accumulate)[1].values())


def _parts(need: Footprint, casts: float, gradients: float, activations: float, loss: float) -> Mapping[str, float]:
    return {
        "weights": need.weights, "casts": casts, "gradients": gradients, "optimizer": need.moments,
        "activations": activations, "loss": loss,
    }  # fmt: skip
