"""How much memory a training step takes at its worst moment, from a few numbers about the model.

The trainer counts those numbers on its model (`trainer.model.memory`); the doctor takes them from a configuration and
from `kept.json` beside this file, and loads this file by its path, as it does `trainer/flags.py`. So there is one
formula, and it imports the standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

RUNGS = ("none", "alternate", "full")  # those with a name; a number is so many of the first layers
SELECTIVE = "selective"  # of every layer what lies between its products
CHUNK_BYTES = 256 << 20  # float32 logits; above this the loss is computed in chunks of so many (`trainer.model.losses`)
MARGIN = 0.9  # of the free memory may be planned with: allocators round up, and libraries take workspaces
# Bytes that a process takes before it has a tensor: the device's context and its libraries' workspaces; on a CPU torch,
# transformers and what they load (0.36 GB), and what oneDNN keeps for products in 16 bits.
CONTEXT: dict[str, float] = {"cuda": 0.6e9, "cpu": 0.40e9}
NARROW_ON_CPU = 0.09e9
# What an allocator takes for each byte of a tensor. On a CPU blocks below 32 MiB lie in malloc's heap, whose holes stay
# the process's own, unless layers are computed again (`trainer.compute.hostmemory`). Which hole takes which block
# differs from run to run, by a tenth of the whole where blocks are in float32, and by a fifth with adapters: these hold
# for the worst of several runs each (tests/benchmarks/recorded/memory.json).
SLACK: dict[str, float] = {"cuda": 1.015, "cpu": 1.02}
HEAP = 1.52
HEAP_GIVEN_BACK = 1.10  # where any layer is computed again
HEAP_NARROW = 1.32  # where nothing is computed again, in 16 bits
# The same with several micro-batches a step, and with adapters (32 and 16 bits): each format by one configuration.
HEAP_OF_MANY, HEAP_OF_ADAPTERS = 2.0, {"float32": 1.83, "narrow": 1.60}
HOLES = 0.075e9  # of the heap, bytes, that are left beside the copies for a checkpoint
# Of what one layer keeps, the part that the gradients of its own tensors take beside it at most, in its backward pass.
IN_FLIGHT = 0.3
BLOCK = 256  # values of a moment in 8 bits that share a scale (a float32), as bitsandbytes has it


def again(rung: str, layers: int) -> range:
    """Which layers are computed again as a whole. Of a number the first: the others have gone by the time these come
    back.
    """
    if rung == "alternate":
        return range(0, layers, 2)
    return range({"none": 0, "full": layers}[rung] if rung in RUNGS else min(_counts(rung, layers)[0], layers))


def between(rung: str, layers: int) -> range:
    """Which layers are computed again between their products and attention, which are kept (`trainer.model.selective`):
    behind those that are as a whole.
    """
    whole, some = (0, 0) if rung in RUNGS else _counts(rung, layers)
    return range(min(whole, layers), min(whole + some, layers))


def _counts(rung: str, layers: int) -> tuple[int, int]:
    """Layers as a whole, and between their products: "3", "selective" or "3+5"."""
    whole, _, some = rung.partition("+")
    return (0, layers) if rung == SELECTIVE else (int(whole), int(some or 0))


def ladder(layers: int, selective: bool = False) -> tuple[str, ...]:
    """The rungs from none to all layers, one layer more each. selective: first between their products, which by the
    byte is cheaper.
    """
    if not selective:
        return ("none", *map(str, range(1, layers)), "full")
    some = (f"0+{count}" for count in range(1, layers))
    return ("none", *some, SELECTIVE, *(f"{count}+{layers - count}" for count in range(1, layers)), "full")


def in_words(rung: str, layers: int) -> str:
    """As reports have it."""
    if rung in RUNGS:
        return rung
    whole, some = len(again(rung, layers)), len(between(rung, layers))
    words = [f"{whole} of {layers} layers"] if whole or not some else []
    others = f"{some} of {layers} layers" if not whole else "the others" if whole + some == layers else str(some)
    return ", ".join(words + ([f"{others} between products"] if some else []))


def bytes_of_moments(narrow: float, others: float, kind: str, factored: float = 0.0) -> float:
    """Bytes of AdamW's two moments of so many trained weights that may have them in 8 bits, and of others; or of what
    Adafactor keeps: `factored` numbers, one for each row, each column, and each weight of a vector.

    kind: a value of the trainer's option `moments`.
    """
    if kind == "adafactor":
        return 4.0 * factored
    return 8.0 * others + (8.0 if kind == "float32" else 2.0 + 8.0 / BLOCK) * narrow


class Pass(NamedTuple):
    """A micro-batch of a step: `slots` tokens at once, `trained` of them predicted; 0: their documents are embedded.

    held: gradients of an earlier pass are there; last: processes exchange the gradients while it goes back.
    """

    slots: float
    trained: float
    held: bool = False
    last: bool = True

    def within(self, size: float) -> Pass:
        """Its largest piece where no more than `size` tokens are computed at once."""
        if self.slots <= size:
            return self
        return self._replace(slots=size, trained=int(self.trained * size / self.slots), held=True)


class Footprint(NamedTuple):
    """What one model needs, bytes.

    weights, moments, gradients: of the whole model, or of this process's share (gradients: once all are there).
    casts: of weights in the compute precision, which a pass keeps until it has come back to them.
    inside, outside: kept per token for the backward pass within and around the `layers` decoder layers; entry: inputs
    of all layers, per token; stream: the residual stream, per token; logit: one position's logits in float32.
    products: kept per token of all layers, their inputs with it, that are computed again between products; 0: unknown.
    copies: of all gradients, which processes with a whole model each exchange. shards: processes that share one model;
    gathered, regathered: of its weights, those that are whole until the loss is there, and on the way back; formed:
    bytes of a whole gradient, for each that it has in float32, until it is scattered.
    embedding, head: gradients of those two matrices, 0 where frozen; tied: they are one matrix. narrow: products are
    computed in 16 bits. gpu: the residual stream is as narrow, and small losses are computed in chunks, too.
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
    narrow: bool = False
    gpu: bool = False
    products: float = 0.0
    copies: float = 0.0
    shards: int = 1
    gathered: float = 0.0
    regathered: float = 0.0
    formed: float = 1.0

    @property
    def fixed(self) -> float:
        """Weights, gradients, moments and casts: what is there whatever the number of tokens."""
        return self.weights + self.moments + self.gradients + self.casts

    def kept(self, rung: str) -> float:
        """Bytes per token that lie until the backward pass: with every layer recomputed its inputs (`entry`), of
        every other layer half of each (Korthikanti et al., arXiv 2205.05198, section 4).
        """
        twice, some = self.recomputed(rung), len(between(rung, self.layers))
        each = max(1, self.layers)
        return self.outside + (self.inside * (each - twice - some) + self.entry * twice + self.products * some) / each

    def recomputed(self, rung: str) -> int:
        """How many layers are, as a whole."""
        return len(again(rung, self.layers))

    def loss(self, trained: float, chunk: float = 0) -> float:
        """Bytes that the loss of so many positions takes for itself (`trainer.model.losses`): their hidden states, and
        what lies beside each other of their logits. chunk: bytes of logits at once, 0 for CHUNK_BYTES.
        """
        whole, chunk = self.logit * trained, chunk or CHUNK_BYTES
        if whole <= chunk and not self.gpu:
            # log-softmax, and the gradients before and behind it; later the head's gradient, in both formats.
            return 1.5 * self.stream * trained + max(3.0 * whole, 1.5 * (whole + self.head))
        # The hidden states of these positions and their gradient; a CPU's are gathered in float32, and cast.
        states = (1.0 if self.narrow and self.gpu else 2.0) * self.stream * trained
        # Of each chunk its logits in float32 and their log-softmax, beside the gradient of the chunk before. A chunk's
        # share of the head's gradient is added to what is gathered in float32: the first share is that, in float32.
        size, gradient = min(whole, chunk), 0.5 if self.narrow else 1.0
        share = gradient * self.head
        # A CPU makes the gradient in float32 and casts it then; a GPU's kernel does both.
        logits = 2.5 if self.narrow and not self.gpu else 2.0
        second, third = (min(1.0, max(0.0, whole / chunk - before)) for before in (1.0, 2.0))
        moments = [logits * size, gradient * size + (2.0 if self.narrow else 1.0) * self.head]
        if second:
            beside = self.head + (share if self.narrow else 0.0)
            moments += [(logits * second + gradient) * size + beside, gradient * second * size + beside + share]
        if third:
            beside = self.head + share
            moments += [(logits * third + gradient) * size + beside, gradient * third * size + beside + share]
        return states + max(moments)

    def at(
        self, rung: str, slots: float, trained: float, chunk: float = 0, accumulate: int = 1
    ) -> Mapping[str, Mapping[str, float]]:
        """Bytes by part, at each moment of a step that may be its worst: `slots` tokens at once, `trained` of them
        predicted. accumulate: micro-batches of a step, of which the last is worst.
        """
        return self.within(rung, Pass(slots, trained, accumulate > 1), chunk)

    def within(self, rung: str, one: Pass, chunk: float = 0) -> Mapping[str, Mapping[str, float]]:
        """The same of one pass, and of what comes behind it.

        Activations only shrink and gradients only grow on the way back, layer by layer alike, so that the most is at
        one of its ends, or where the first layer is computed again.
        """
        slots, layers, whole = one.slots, max(1, self.layers), self.recomputed(rung)
        twice = whole + len(between(rung, self.layers))
        layer, entry, products = self.inside / layers, self.entry / layers, self.products / layers
        work = slots * (IN_FLIGHT * layer + 2 * self.stream)
        # Where the last layer is computed again, it is there when the way back begins.
        first = layer if self.layers - 1 in again(rung, self.layers) else 0.0
        first = layer + entry - products if self.layers - 1 in between(rung, self.layers) else first
        # What was computed without a graph keeps no casts once the forward pass is over.
        casts = self.casts * (layers - twice + 1) / (layers + 1) if twice else self.casts
        kept, last = slots * self.kept(rung), slots * (self.outside + layer + (entry if twice else 0.0))
        back, begun = self._replace(gathered=self.regathered), self.made(one, 0)
        if self.shards > 1:  # where a layer has more gradients than activations, it is the second
            begun = max(begun, self.made(one, 1) - slots * (entry if twice else layer))
        moments = {}
        ends = [("first layer again", whole, entry), ("first selective layer again", twice, products)]
        for name, count, own in ends[: 1 + (twice > whole)]:
            if rung not in RUNGS and 0 < count < layers:  # those behind them have gone
                lying = slots * (self.outside + entry * whole + products * (count - whole) + layer + entry - own)
                moments[name] = _parts(back, self.casts / layers, self.made(one, layers - count), lying + work, 0.0)
        loss = self.loss(one.trained, chunk) if one.trained else 2.0 * self.stream * slots  # or means of documents
        return {
            "loss": _parts(self, self.casts, self.gradients if one.held else 0.0, kept, loss),
            "first layer back": _parts(back, casts, begun, kept + slots * first + work, 0.0),
            **moments,
            "last layer back": _parts(back, self.casts / layers, self.made(one, layers - 1), last + work, 0.0),
            "embedding": _parts(back, 0.0, self.made(one, layers), slots * self.stream, 0.0),
            "optimizer": _parts(self._replace(gathered=0.0), 0.0, self.gradients + self.copies, 0.0, 0.0),
        }  # fmt: skip

    def made(self, one: Pass, layers: int) -> float:
        """Bytes of gradients on the way back, behind so many layers, while that of the next is made: of all layers that
        of the embedding.
        """
        # Where one matrix is both, its gradients are put together at the end, as an embedding's.
        head, embedding = (0.0 if self.tied else self.head), self.embedding
        of_layer = (self.gradients - (head + embedding) / self.shards) / max(1, self.layers)
        behind = head / self.shards + of_layer * layers
        formed = self.head * self.formed if one.trained else 0.0
        if layers == self.layers:  # a matrix that is both has two, and their sum
            making = embedding * self.formed * (3.0 if self.tied and formed else 1.0)
        else:
            making = formed if self.tied or not layers else 0.0
            if self.shards > 1 and layers:  # of the layer before it, whole, until they are scattered in float32
                making += of_layer * self.shards
            elif one.held and layers:  # beside the one that it is added to
                making += of_layer
        sent = self.copies * behind / self.gradients if one.last and self.copies else 0.0
        there = self.gradients if one.held else behind if layers else 0.0
        return there + making + sent

    def peak(self, rung: str, slots: float, trained: float, chunk: float = 0, accumulate: int = 1) -> float:
        """Bytes of tensors at the worst moment of a step."""
        return self.most(rung, [Pass(slots, trained, accumulate > 1)], chunk)

    def most(self, rung: str, passes: Iterable[Pass], chunk: float = 0) -> float:
        """Bytes of tensors at the worst moment of all these passes."""
        return max(sum(parts.values()) for one in passes for parts in self.within(rung, one, chunk).values())

    def heap(self, rung: str, accumulate: int) -> float:
        """Bytes that malloc takes for each byte of activations."""
        if rung == "none" and self.moments < self.weights:  # adapters
            return HEAP_OF_ADAPTERS["narrow" if self.narrow else "float32"]
        if rung == "none" and accumulate > 1:
            return HEAP_OF_MANY
        if rung != "none":
            return HEAP_GIVEN_BACK
        return HEAP_NARROW if self.narrow else HEAP

    def process(
        self, device: str, rung: str, slots: float, trained: float, chunk: float = 0, accumulate: int = 1
    ) -> tuple[str, Mapping[str, float]]:
        """The moment at which a run takes most of the memory of its `device`, "cuda" or "cpu", and its bytes by part:
        those of tensors, and "buffers" and "context" besides. On a CPU the copies for a checkpoint lie there, too.
        """
        moments = {
            name: {**parts, **_besides(self, device, self.heap(rung, accumulate), parts)}
            for name, parts in self.at(rung, slots, trained, chunk, accumulate).items()
        }
        if device == "cpu":
            copied = _parts(self._replace(gathered=0.0), 0.0, 0.0, 0.0, 0.0)
            moments["checkpoint"] = {
                **copied, "copies": self.gradients + self.moments,
                **_besides(self, device, 1.0, {"loss": self.weights + self.gradients + 2 * self.moments}),
            }  # fmt: skip
            moments["checkpoint"]["buffers"] += HOLES
        return max(moments.items(), key=lambda item: sum(item[1].values()))


def _besides(need: Footprint, device: str, heap: float, parts: Mapping[str, float]) -> dict[str, float]:
    """What a process has besides its tensors; heap: bytes that malloc takes on a CPU for each byte of activations."""
    buffers = (SLACK[device] - 1.0) * sum(parts.values())
    if device == "cpu":
        buffers += (heap - SLACK[device]) * parts.get("activations", 0.0)
    workspace = NARROW_ON_CPU if need.narrow and device == "cpu" else 0.0
    return {"buffers": buffers, "context": CONTEXT[device] + workspace}


def _parts(need: Footprint, casts: float, gradients: float, activations: float, loss: float) -> Mapping[str, float]:
    return {
        "weights": need.weights + need.gathered, "casts": casts, "gradients": gradients, "optimizer": need.moments,
        "activations": activations, "loss": loss,
    }  # fmt: skip
