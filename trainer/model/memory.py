"""How much memory a run will need, and from that: is anything recomputed, and how much is computed at once.

What a model needs is counted here; what a step takes at its worst then is `trainer.model.peak`, which the doctor reads.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from trainer.compute import factored, moments, randomness, sharding
from trainer.compute.parallel import Group
from trainer.data.batches import pack, pad_rows
from trainer.data.counts import Counts
from trainer.data.pairs import PairBatch
from trainer.model import selective
from trainer.model.build import Trainee, layers_of
from trainer.model.peak import MARGIN, Footprint, Pass, bytes_of_moments, in_words, ladder
from trainer.options.settings import Settings
from trainer.report import Choice

CHUNKS = tuple(size << 20 for size in (2048, 1024, 512, 256))  # of logits on a GPU, bytes
PROBE = 128  # tokens of the smaller probing pass


@dataclass(frozen=True)
class MemoryPlan:
    """The rung, the most slots computed at once (0: whole micro-batches), the reason for both, and the bytes of logits
    at once (0: as the loss has it); ample: twice as much would fit, too.
    """

    rung: str
    slots_limit: int
    reason: str
    chunk: int = 0
    ample: bool = False


def plan(
    need: Footprint, budget: float, passes: Sequence[Pass], longest: int, chunks: Sequence[int] = (0,)
) -> MemoryPlan:
    """The first that fits `budget` bytes: everything kept, one layer recomputed (between its products first, where that
    was counted), two, all of them, and then smaller pieces of a micro-batch down to its longest document. Before
    anything is recomputed the loss takes smaller pieces: of 2 GiB down to 256 MiB they cost a tenth of a step,
    recomputing every other layer as much or more.

    passes: the micro-batches of the steps to come; longest: tokens of a document; chunks: of logits, the largest first.
    """
    slots = int(max(one.slots for one in passes))

    def fits(rung: str, size: int, chunk: int = chunks[-1]) -> bool:
        return at_most(rung, size, chunk) <= budget

    def at_most(rung: str, size: int, chunk: int = chunks[-1]) -> float:
        return need.most(rung, (one.within(size) for one in passes), chunk)

    def told(rung: str, size: int) -> str:
        return f"about {_gigabytes(at_most(rung, size))} of {_gigabytes(budget)} free for {size} tokens at once"

    for rung in ladder(need.layers, need.products > 0):
        chunk = next((chunk for chunk in chunks if fits(rung, slots, chunk)), None)
        if chunk is not None:
            before = "" if rung == "none" else f"; without it {_gigabytes(at_most('none', slots, 0))}"
            ample = rung == "none" and 2 * at_most(rung, slots, chunk) <= budget
            return MemoryPlan(rung, 0, told(rung, slots) + before, chunk, ample)
    size = slots
    while size // 2 >= longest:
        size //= 2
        if fits("full", size):
            return MemoryPlan("full", size, told("full", size), chunks[-1])
    return MemoryPlan("full", size if size < slots else 0, told("full", size) + ": it may not fit", chunks[-1])


def passes_of(batches: Sequence[Any], settings: Settings) -> list[Pass]:
    """The micro-batches of one step as far as their memory goes."""
    found: list[Pass] = []
    for number, batch in enumerate(batches):
        if isinstance(batch, PairBatch):
            rows = [row.batch.slots for row in batch.rows]
            # By GradCache row by row, each beside the gradients of those before it.
            again = len(rows) > 1 and (batch.again or settings.gradcache_chunk > 0)
            found.append(Pass(max(rows) if again else sum(rows), 0, number > 0 or again, last=False))
        else:
            trained = Counts.of([batch]).trained if settings.head == "trained" else batch.slots
            found.append(Pass(batch.slots, trained, number > 0, number + 1 == len(batches)))
    return found


def footprint(
    trainee: Trainee, group: Group | None = None, kind_of_moments: str = "float32", products: bool = False
) -> Footprint:
    """Count what a small forward pass keeps for its backward pass, and the states of the weights.

    group: the processes, one by default; kind_of_moments: the option `moments`; products: layers may be computed again
    between them.
    """
    group = group or Group()
    shards = group.world if group.kind == "fsdp2" else 1
    model, head = trainee.model, trainee.head
    embedding = model.get_input_embeddings().weight
    trainable = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    sizes = [(moments.is_narrow(name, p), p.numel()) for name, p in trainable]
    few = factored.kept_values(tuple(p.shape) for _, p in trainable)
    narrow, others = (sum(size for is_narrow, size in sizes if is_narrow is kind) for kind in (True, False))
    trained = narrow + others
    # What is frozen is held in the compute precision already (`trainer.model.lora`); so is what comes gathered in it.
    cast = [
        p for p in model.parameters()
        if p.is_floating_point() and trainee.dtype not in (p.dtype, group.gathers) and _is_factor(p, embedding, head)
    ]  # fmt: skip
    # Shards: before the probing pass, which leaves some of them whole.
    weights = sum(p.numel() * p.element_size() for p in model.parameters()) / shards
    gathered, regathered = _whole_shards(trainee, group) if shards > 1 else (0.0, 0.0)
    inside, outside, entry, of_products = _bytes_kept(trainee)
    return Footprint(
        weights=weights,
        moments=bytes_of_moments(narrow, others, kind_of_moments, few) / shards,
        gradients=4.0 * trained / shards,
        casts=sum(2.0 * p.numel() for p in cast),
        layers=len(layers_of(model)),
        inside=inside,
        outside=outside,
        entry=entry,
        stream=4.0 * head.shape[1],
        logit=4.0 * head.shape[0],
        embedding=4.0 * embedding.numel() if embedding.requires_grad else 0.0,
        head=4.0 * head.numel() if head.requires_grad else 0.0,
        tied=head is embedding,
        narrow=trainee.dtype != torch.float32,
        gpu=trainee.device.type == "cuda",
        products=entry + of_products if products else 0.0,
        copies=float(group.travels.itemsize) * trained if group.kind == "ddp" else 0.0,
        shards=shards,
        gathered=gathered,
        regathered=regathered,
        formed=group.travels.itemsize / 4 if shards > 1 else 1.0,
    )


def _whole_shards(trainee: Trainee, group: Group) -> tuple[float, float]:
    """Bytes of shards that are whole at a time, until the loss is there and on the way back: of a layer and the next
    one, and what is around them. A head of its own is gathered for the loss alone, beside what it is gathered through.
    """
    model = trainee.model

    def size(p: torch.Tensor) -> float:
        return float(p.numel() * (group.gathers or p.dtype).itemsize)

    layers = [sum(map(size, layer.parameters())) for layer in layers_of(model)]
    two, around = 2 * max(layers), sum(map(size, model.parameters())) - sum(layers)
    embedding = model.get_input_embeddings().weight
    if trainee.head is embedding:
        return two + around, two + around
    around -= size(embedding)
    return around + max(two, around), two


def _is_factor(parameter: torch.Tensor, embedding: torch.Tensor, head: torch.Tensor) -> bool:
    """Is it a factor of a matrix product? Of these autocast keeps a cast; an embedding is looked up in as it is."""
    return parameter.ndim >= 2 and (parameter is head or parameter is not embedding)


def _bytes_kept(trainee: Trainee) -> tuple[float, float, float, float]:
    """Bytes per token kept: within layers, elsewhere, as the layers' inputs, and of their products and attention.

    From passes over PROBE tokens and twice as many: what does not grow with the tokens is no token's, above all the
    casts of the weights that autocast keeps, which `fixed` counts already. Where attention keeps its weights
    (`trainer.model.blockwise`), they are counted as in documents of some 200 tokens, too few where most are longer.
    """
    small, large = _kept_by(trainee, PROBE), _kept_by(trainee, 2 * PROBE)
    inside, outside, entry, products = ((after - before) / PROBE for before, after in zip(small, large))
    return inside, outside, entry, products


def _kept_by(trainee: Trainee, tokens: int) -> tuple[int, int, int, int]:
    """Bytes kept by a pass over so many tokens, in two documents."""
    weights = {sharding.own(p).untyped_storage().data_ptr() for p in trainee.model.parameters()}
    seen: set[int] = set()
    kept = {"inside": 0, "outside": 0, "entry": 0}
    where: list[str] = ["outside"]
    given: dict[int, torch.UntypedStorage] = {}  # by products and attention within layers

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in seen | weights:
            seen.add(storage.data_ptr())
            kept[where[-1]] += storage.nbytes()
        return tensor.detach()  # else a node would hold what it has made, and the graph would never be let go

    def give(tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        if where[-1] == "inside":
            given[storage.data_ptr()] = storage

    def enter(module: Any, inputs: Any) -> None:  # noqa: ARG001 - a hook's signature
        kept["entry"] += inputs[0].numel() * inputs[0].element_size() if inputs else 0
        where.append("inside")

    documents = [([1] * (tokens // 2), [0] * (tokens // 2))] * 2
    batch = (pack(documents) if trainee.attention is not None else pad_rows(documents, 0)).to(trainee.device)
    before = randomness.tensors(trainee.device)
    with ExitStack() as held:
        for layer in layers_of(trainee.model):
            held.callback(layer.register_forward_pre_hook(enter).remove)
            held.callback(layer.register_forward_hook(lambda *_: where.pop() and None).remove)
        hooks = torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor)
        attention = trainee.attention.name if trainee.attention is not None else None
        noted = selective.noting(give) if selective.is_open(attention) else nullcontext()
        with hooks, noted, trainee.computing():
            trainee.through(trainee.hidden, batch)
    randomness.restore_torch(trainee.device, before)
    products = sum(storage.nbytes() for storage in given.values())
    return kept["inside"], kept["outside"], kept["entry"], products


def free(device: torch.device, processes: int) -> float:
    """Bytes that a process may plan with, what its model holds already included.

    processes: those of this run on this machine, which share the host's memory (each has a GPU of its own).
    """
    if device.type == "cuda":
        return MARGIN * float(torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device))
    return MARGIN * _host_free() / processes


def _host_free() -> float:
    with open("/proc/self/statm", encoding="ascii") as stream:
        own = float(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    found: dict[str, float] = {}
    with open("/proc/meminfo", encoding="ascii") as stream:
        for line in stream:
            name, _, value = line.partition(":")
            found[name] = float(value.split()[0]) * 1024
    left = found["MemAvailable"]
    try:
        limit, current = (Path("/sys/fs/cgroup/memory." + name).read_text("ascii") for name in ("max", "current"))
        left = min(left, float(limit) - float(current))
    except (OSError, ValueError):
        pass  # no cgroup limit ("max" is no number): the machine's memory is the limit
    return left + own


def choose(
    trainee: Trainee,
    group: Group,
    kind_of_moments: str,
    passes: Sequence[Pass],
    longest: int,
    products: bool = False,
) -> tuple[MemoryPlan, Choice]:
    """The plan for this run and what the report says of it. passes: micro-batches of the steps to come; longest: tokens
    of a document; products: layers may be computed again between them."""
    need = footprint(trainee, group, kind_of_moments, products)
    try:
        budget = free(trainee.device, group.local_world)
    except (OSError, KeyError, ValueError):
        reason = "the free memory is not known here"
        return MemoryPlan("none", 0, reason), Choice("recompute", "none", reason)
    found = plan(need, budget, passes, longest, CHUNKS if trainee.device.type == "cuda" else (0,))
    pieces = f", at most {found.slots_limit} tokens at once" if found.slots_limit else ""
    return found, Choice("recompute", in_words(found.rung, need.layers) + pieces, found.reason)


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB"
