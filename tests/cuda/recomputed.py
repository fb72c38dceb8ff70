"""What a short memory costs: steps whose layers are computed again between their products first, beside steps that
recompute as few layers as fit as a whole.

    python -m tests.cuda.recomputed [--output tests/cuda/recorded/recomputed.json]
    python -m tests.cuda.recomputed --show tests/cuda/recorded/recomputed.json

"whole" is the least number of layers that fits by the trainer's own estimate, as it chose until it knew the other way;
"chosen" is what it chooses by itself. Counted on devices that are not there; the times are the roofline of `counted`,
which leaves out what the operators' way through Python costs the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.cuda import chips
from tests.cuda.child import Child
from tests.cuda.counted import CHIPS, seconds
from tests.cuda.record import Record, command, fullest
from tests.cuda.setups import SetUp
from trainer.model.peak import MARGIN, Footprint, Pass, in_words, ladder

NAMES = {"RTX 4090": "4090"}  # of a chip among the rates
# (chip, model, settings): each needs some recomputation there.
ROWS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "1b, rows of 8k, RTX 4090": ("RTX 4090", "1b", {"tokens_per_row": 8192}),
    "1b, rows of 16k, RTX 4090": ("RTX 4090", "1b", {"tokens_per_row": 16384}),
    "1b, rows of 48k, A100": ("A100", "1b", {"tokens_per_row": 49152}),
    "8b lora, rows of 16k, H100": ("H100", "8b", {"tokens_per_row": 16384, "lora_rank": 16}),
    "8b lora, rows of 64k, B200": ("B200", "8b", {"tokens_per_row": 65536, "lora_rank": 16}),
}
# "before" and "after": the first of none, every other and all layers that fits, and "whole", in a record of that time.
WAYS = ("before", "after", "none", "whole", "chosen")
PLAIN: dict[str, Any] = {"precision": "bfloat16", "max_steps": 3}


def step_of(answer: dict[str, Any]) -> dict[str, Any]:
    """The fullest step, with its tokens and what was expected of it; its peak is that of all steps."""
    place = fullest(answer)
    step = {name: value for name, value in answer["steps"][place].items() if name not in ("by_kind", "sent")}
    step["peak"] = max(one["peak"] for one in answer["steps"])
    step["estimate"] = max(answer["estimates"])
    return {**step, "slots": answer["slots"][place], "formula": answer["formula"][place]}


def row(child: Child, name: str) -> dict[str, Any]:
    """Nothing recomputed, as few layers as fit, and the trainer's choice."""
    chip, shape, values = ROWS[name]
    answer = child.run(SetUp("sft", {**PLAIN, **values, "recompute": "auto"}, shape, chip))
    chosen = {"rung": answer["choices"]["recompute"], "chunk": answer["choices"]["loss-chunk"], "step": step_of(answer)}
    room, chunk, need = MARGIN * chips.CHIPS[chip].memory, int(chosen["chunk"].split()[0]), Footprint(**answer["need"])

    def fits(rung: str) -> bool:
        passes = [Pass(*one) for step in answer["shapes"] for one in step]
        return need.most(rung, passes, chunk << 20) <= room

    def at(rung: str) -> dict[str, Any]:
        again = child.run(SetUp("sft", {**PLAIN, **values, "recompute": rung, "loss_chunk": chunk}, shape, chip))
        return {"rung": in_words(rung, need.layers), "chunk": chosen["chunk"], "step": step_of(again)}

    whole = at(next((rung for rung in ladder(need.layers) if fits(rung)), "full"))
    none = at("none")
    return {"none": none, "whole": whole, "chosen": chosen, "room": room}


def table(record: dict[str, Any]) -> str:
    """Markdown, from the raw numbers alone."""
    head = ["step", "way", "recomputed", "operations", "kernels", "GB moved beside products", "peak GB", "of", "step"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, found in record["rows"].items():
        chip = ROWS[name][0]
        for way in filter(found.get, WAYS):
            step, rung = found[way]["step"], found[way]["rung"]
            longest = max(seconds(step, CHIPS[NAMES.get(chip, chip)], compiled=False))
            cells = [
                name, way, rung, f"{step['flops'] / step['formula']:.2f} of the formula", f"{step['kernels']:,}",
                f"{step['other_bytes'] / 1e9:.0f}", f"{step['peak'] / 1e9:.1f}", f"{found['room'] / 1e9:.1f}",
                f"{1e3 * longest:.0f} ms",
            ]  # fmt: skip
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def fill(child: Child, record: Record) -> Iterator[str]:
    """Each row, both ways."""
    rows = record["rows"] = {}
    for name in ROWS:
        rows[name] = row(child, name)
        yield f"{name}: {rows[name]['chosen']['rung']}"


if __name__ == "__main__":
    command(__doc__, "recomputed.json", fill, table)
