"""The memory of a training step, by part, and how many tokens fit at once at each rung of recomputation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from envdoctor.models.architecture import Architecture, NotKnown
from envdoctor.models.formula import Footprint, formula, kept_bytes
from envdoctor.models.source import ModelSource
from envdoctor.values.frozen import frozen

Device = Literal["cuda", "cpu"]
Moments = Literal["float32", "8bit", "adafactor"]
LONGEST = 1024  # tokens: CPUs keep the attention weights of documents up to here (`trainer/model/blockwise.py`)
COUNTED = 384.0  # bytes of them per token and head that the table has, from documents of 64 and of 128 tokens
MOST_TOKENS = 1 << 24  # at once; no row of the trainer is as long


@frozen
class Job:
    """What is trained. ``tokens``: of one micro-batch; ``trained``: the share of them that is predicted; ``rank``: of
    adapters, 0 to train every weight; ``documents``: tokens of a typical document, None for unknown (the worst case);
    ``moments``: the format of AdamW's two, or "adafactor", as the trainer's option has it.
    """

    task: str = "sft"
    tokens: int = 2048
    rank: int = 0
    accumulate: int = 1
    trained: float = 1.0
    documents: int | None = None
    moments: Moments = "float32"


@frozen
class PeakMemory:
    """Bytes at the worst moment of a step at one rung. ``parts`` add up to ``total``, context and slack included."""

    rung: str
    moment: str
    parts: Mapping[str, float]
    largest: int  # tokens of a micro-batch at most; 0: not one
    fits: bool

    @property
    def total(self) -> float:
        return sum(self.parts.values())


def rungs(
    shape: Architecture, job: Job, *, device: Device, precision: str, room: float | None
) -> tuple[PeakMemory, ...]:
    """Rungs of recomputation: of none, every other one and all layers; where none is too few and all are too many, as
    few as fit before them, which is what the trainer takes. With ``room`` (bytes) None everything fits.

    Raises `NotKnown` for a family whose activations were not counted.
    """
    need = footprint(shape, job, device=device, precision=precision)
    kept, *others = (_rung(need, rung, job, device, room) for rung in formula().RUNGS)
    fewest = _fewest(need, job, device, room) if room is not None and not kept.fits and others[-1].fits else None
    return (kept, *([_rung(need, fewest, job, device, room)] if fewest else []), *others)


def _fewest(need: Footprint, job: Job, device: str, room: float) -> str | None:
    """The first rung that fits, where that is one of some layers, or of layers in part."""
    for rung in formula().ladder(need.layers, need.products > 0)[1:-1]:
        _, parts = need.process(device, rung, job.tokens, job.tokens * job.trained, accumulate=job.accumulate)
        if sum(parts.values()) <= room:
            return rung
    return None


def _rung(need: Footprint, rung: str, job: Job, device: str, room: float | None) -> PeakMemory:
    def worst(tokens: int) -> tuple[str, Mapping[str, float]]:
        return need.process(device, rung, tokens, tokens * job.trained, accumulate=job.accumulate)

    def total(tokens: int) -> float:
        return sum(worst(tokens)[1].values())

    moment, parts = worst(job.tokens)
    return PeakMemory(
        rung=rung,
        moment=moment,
        parts=parts,
        largest=MOST_TOKENS if room is None else _most(total, room),
        fits=room is None or total(job.tokens) <= room,
    )


def _most(total: Callable[[int], float], room: float) -> int:
    """The most tokens whose total is within the room, by bisection: the total grows with the tokens."""
    low, high = 0, MOST_TOKENS
    while low < high:
        middle = (low + high + 1) // 2
        if total(middle) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def footprint(shape: Architecture, job: Job, *, device: Device, precision: str) -> Footprint:
    """The trainer's footprint of a model that was not built: its weights counted, and what its layers keep looked up.

    Raises `NotKnown` where that was not counted for this family.
    """
    parameters = shape.parameters
    adapters = shape.adapters(job.rank) if job.rank else 0
    trained = adapters if job.rank else parameters.total
    narrow = precision != "float32"
    inside, outside, entry, products = _kept_bytes(shape, job, device, precision)
    # Of adapters it depends on the rank; they are few.
    narrow_moments = 0 if job.rank else parameters.matrices + parameters.head
    head = parameters.head or shape.head_weights
    cast = trained if job.rank else parameters.matrices + head
    frozen = 0.0
    if job.rank:  # linear layers, the head with them, are held in the compute precision, all else in float32
        width = 2.0 if narrow else 4.0
        held = parameters.matrices + head
        frozen = width * held + 4.0 * (parameters.total - held)
    return formula().Footprint(
        weights=frozen + 4.0 * trained,
        moments=formula().bytes_of_moments(narrow_moments, trained - narrow_moments, job.moments, _rows_columns(shape)),
        gradients=4.0 * trained,
        casts=2.0 * cast if narrow else 0.0,
        layers=shape.layers,
        inside=inside,
        outside=outside,
        entry=entry,
        stream=4.0 * shape.hidden,
        logit=4.0 * shape.vocabulary,
        embedding=0.0 if job.rank else 4.0 * shape.head_weights,
        head=0.0 if job.rank else 4.0 * shape.head_weights,
        tied=shape.tied,
        narrow=narrow,
        gpu=device == "cuda",
        products=products,
    )


def _rows_columns(shape: Architecture) -> float:
    """Numbers that Adafactor keeps of a model: one for each row and each column, and the vectors'."""
    parameters = shape.parameters
    embeddings = parameters.embedding // shape.hidden + shape.hidden
    head = shape.vocabulary + shape.hidden if parameters.head else 0
    return float(shape.adapters(1) + embeddings + head + parameters.vectors)  # of rank 1: a row and a column each


def _kept_bytes(shape: Architecture, job: Job, device: Device, precision: str) -> tuple[float, float, float, float]:
    """Bytes kept per token within all layers, around them, as their inputs, and where layers are computed again between
    their products (0: they are not)."""
    if shape.experts:
        # On a GPU the products of all experts at once take weights in bfloat16 only (torch's own check for tensors
        # without content), and the trainer's are float32: nothing could be counted there.
        raise NotKnown(
            f"{shape.family} is a mixture of experts, which fit does not support: no step of one was counted",
            remedy="Models with one feed-forward network in each layer are supported.",
        )
    table, key = kept_bytes(), f"{device} {precision}" + (" lora" if job.rank else "")
    # Families whose layers keep the same to the byte: llama's code, with other biases or without.
    names = (shape.family, table["alike"].get(shape.family, ""))
    row = next((found for name in names if (found := table["families"].get(name, {}).get(key))), None)
    if row is None:
        known = ", ".join(sorted({*table["families"], *table["alike"]}))
        raise NotKnown(
            f"what a layer of {shape.family} keeps for its backward pass was not counted ({key})",
            remedy=f"Counted are: {known}.",
        )
    size = {
        "hidden": shape.hidden, "query": shape.query_width, "key": shape.key_width, "inner": shape.inner,
        "heads": shape.heads, "one": 1, "rank": job.rank,
    }  # fmt: skip

    def of(what: str) -> float:
        return sum(float(weight) * size[name] for name, weight in row[what].items())

    inside = of("inside")
    if device == "cpu" and precision == "bfloat16":
        inside += shape.heads * (_attention_weights(job) - COUNTED)
    products = of("entry") + of("products") if "products" in row else 0.0
    return shape.layers * inside, of("outside"), shape.layers * of("entry"), shape.layers * products


def _attention_weights(job: Job) -> float:
    """Bytes per token and head that plain matrix products on a CPU keep, in documents of one length: 2 for each token
    seen, by whole blocks of 128, half of them on average. Documents over LONGEST keep none."""
    length = min(job.tokens, job.documents or LONGEST)
    if length > LONGEST:
        return 0.0
    blocks, rest = divmod(length, 128)
    seen = 128 * 128 * blocks * (blocks + 1) // 2 + rest * length
    return 2.0 * seen / length


def states(source: ModelSource, job: Job) -> float:
    """Bytes of weights, gradients and moments alone, where no more is known: float32 and every weight trained, or, with
    adapters, the frozen weights in 16 bits."""
    if job.rank:
        return 2.0 * source.parameters
    return 8.0 * source.parameters + formula().bytes_of_moments(source.parameters, 0, job.moments)
