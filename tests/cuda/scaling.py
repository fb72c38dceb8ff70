"""Eight GPUs and sixty-four on paper: counted work, counted exchange, and the links' rates.

    python -m tests.cuda.scaling [--output tests/cuda/recorded/scaling.json]
    python -m tests.cuda.scaling --show tests/cuda/recorded/scaling.json

One process of the run is counted on a device that is not there: what it computes and, in the order of that, each
collective with its bytes. Then the step is played: the device computes one thing after the other, a link carries one
collective after the other from when it is launched, and the device waits where a result is needed that is not there. An
estimate: no link was touched. Operators are eager; the roofline is that of `counted`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.cuda.child import Child
from tests.cuda.counted import CHIPS, seconds
from tests.cuda.record import Record, command, fullest
from tests.cuda.setups import SetUp

# An H100 SXM's NVLink 4 and its own 400 Gb/s adapter, bytes/s in one direction by their data sheets, and what of it
# large collectives reach.
NVLINK, ADAPTER, REACHED = 450e9, 50e9, 0.8
IN_NODE = 8
STARTS = {True: 60e-6, False: 30e-6}  # seconds before a collective moves anything, by whether it leaves the machine
SMALL = 1 << 20  # bytes: norms, losses, flags
FULL: dict[str, Any] = {"precision": "bfloat16", "recompute": "none", "max_steps": 2}
RUNS = {
    "135m, whole models": ("135m", {**FULL, "tokens_per_row": 16384, "parallel": "ddp"}),
    "1b, whole models": ("1b", {**FULL, "tokens_per_row": 16384, "parallel": "ddp"}),
    "1b, shards": ("1b", {**FULL, "tokens_per_row": 16384, "parallel": "fsdp2"}),
    "8b lora, whole models": ("8b", {**FULL, "tokens_per_row": 8192, "lora_rank": 16, "parallel": "ddp"}),
}
WORLDS = (8, 64)


@dataclass(frozen=True)
class Played:
    """Seconds of a step: computing, on the links, and waiting for them."""

    computing: float
    links: float
    waiting: float

    @property
    def efficiency(self) -> float:
        """Of what as many devices would do that need not talk."""
        return self.computing / (self.computing + self.waiting)


def on_links(name: str, size: int, world: int) -> float:
    """Seconds of one collective, in rings within the machine and between the devices of one place in each."""
    if world == 1:
        return 0.0
    local, nodes = min(world, IN_NODE), -(-world // IN_NODE)
    passes = 2 if "allreduce" in name else 1  # scatter and gather, or one of them
    within = passes * size * (local - 1) / local / (NVLINK * REACHED)
    between = passes * size / local * (nodes - 1) / nodes / (ADAPTER * REACHED)
    return STARTS[nodes > 1] + within + between


def gathers_of(step: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Large gathers of the forward pass, and of the backward pass, which has no need of the root's: the outermost
    weights stay whole between the two.
    """
    found = [sent for sent in step["sent"] if "gather" in sent["name"] and sent["size"] >= SMALL]
    return found[: (len(found) + 1) // 2], found[(len(found) + 1) // 2 :]


def layers_ahead(step: dict[str, Any]) -> int:
    """By the order of launches in the trace: how many layers before it is needed each gather of the backward pass
    stands. A layer's backward pass ends with its gradients being scattered; without looking ahead, as many gathers as
    scatterings are then done.
    """
    backward, (known, gathered, ahead) = gathers_of(step)[1], (0, 0, [])
    for sent in step["sent"]:
        if sent["size"] < SMALL:
            continue
        gathered += any(sent is one for one in backward)
        if "reduce_scatter" in sent["name"]:
            known += 1
            if gathered < len(backward):  # the last ones have nothing more to gather
                ahead.append(gathered - known)
    return min(ahead, default=0)


def played(step: dict[str, Any], world: int, chip: str = "H100") -> Played:
    """The step on that many devices.

    Shards are gathered while what came before computes. Forward from when the last ones were there: the launch stands
    where the layer begins, and that FSDP2 lets it overtake the layer before, with two layers held, is assumed, since
    streams are not in the trace. Backward from where the launch stands, which the trace says (`layers_ahead`); without
    a layer ahead each is waited for. Gradients have to be there before the update; small collectives are waited for.
    """
    rates, looks_ahead = CHIPS[chip], layers_ahead(step) > 0
    total = seconds(step, rates, compiled=False)[0]
    large = [sent for sent in step["sent"] if sent["size"] >= SMALL]
    forward, late, free, links, before, needed = gathers_of(step)[0], 0.0, 0.0, 0.0, 0.0, 0.0
    for sent in large:
        at = seconds(sent, rates, compiled=False)[0]
        length = on_links(sent["name"], sent["size"], world)
        links += length
        ahead = any(sent is one for one in forward)
        if "gather" in sent["name"] and not ahead:
            late += max(0.0, needed - (at + late))  # the layer that begins here was gathered by the last one
        free = max(free, (before if ahead else at) + late) + length
        if ahead or ("gather" in sent["name"] and not looks_ahead):
            late += max(0.0, free - (at + late))
        elif "gather" in sent["name"]:
            needed = free
        before = at if "gather" in sent["name"] else before
    end = max((seconds(sent, rates, compiled=False)[0] for sent in large), default=0.0)
    late += max(0.0, free - (end + late))
    short = sum(on_links(sent["name"], sent["size"], world) for sent in step["sent"] if sent["size"] < SMALL)
    return Played(total, links + short, late + short)


def table(record: dict[str, Any]) -> str:
    """Markdown, from the raw numbers alone."""
    head = ["H100", "devices", "computing", "on links", "of that beside computing", "efficiency", "tokens/s"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, by_world in record["runs"].items():
        for world, found in by_world.items():
            one = played(found["step"], int(world))
            beside = 1 - one.waiting / one.links if one.links else 0.0
            pace = int(world) * found["slots"] / (one.computing + one.waiting)
            cells = [name, world, f"{1e3 * one.computing:.0f} ms", f"{1e3 * one.links:.1f} ms", f"{beside:.0%}",
                     f"{one.efficiency:.1%}", f"{pace:,.0f}"]  # fmt: skip
            lines.append("| " + " | ".join(cells) + " |")
    found = {layers_ahead(each["step"]) for each in record["runs"].get("1b, shards", {}).values()}
    if found:
        ahead = " or ".join(map(str, sorted(found)))
        told = (
            f"Shards: gathers of the backward pass are launched {ahead} layer ahead, by the trace; that those of the "
        )
        lines += ["", told + "forward pass run beside the layer before is assumed."]
    return "\n".join(lines)


def fill(child: Child, record: Record) -> Iterator[str]:
    """Each run, by devices."""
    runs = record["runs"] = {}
    for name, (shape, values) in RUNS.items():
        runs[name] = {}
        for world in WORLDS:
            if world > WORLDS[0] and values["parallel"] == "ddp":  # each has the same to do, however many there are
                runs[name][world] = runs[name][WORLDS[0]]
                continue
            answer = child.run(SetUp("sft", values, shape, world=world))
            place = fullest(answer)
            step = {key: value for key, value in answer["steps"][place].items() if key != "by_kind"}
            runs[name][world] = {"step": step, "slots": answer["slots"][place]}
        yield name


if __name__ == "__main__":
    command(__doc__, "scaling.json", fill, table)
