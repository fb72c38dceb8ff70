"""What a short memory costs: steps that recompute as few layers as fit beside the steps of a ladder of three rungs.

    python -m tests.cuda.recomputed [--output tests/cuda/recorded/recomputed.json]
    python -m tests.cuda.recomputed --show tests/cuda/recorded/recomputed.json

"before" is the first of none, every other and all layers that fits by the trainer's own estimate, as it chose until it
counted layers; "after" is what it chooses by itself. Counted on devices that are not there; the times are the roofline
of `counted`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.cuda import chips
from tests.cuda import environment as environments
from tests.cuda.child import Child
from tests.cuda.counted import CHIPS, seconds
from tests.cuda.setups import SetUp
from trainer.model.peak import MARGIN, RUNGS

NAMES = {"RTX 4090": "4090"}  # of a chip among the rates
# (chip, model, settings): each needs some recomputation there.
ROWS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "1b, rows of 8k, RTX 4090": ("RTX 4090", "1b", {"tokens_per_row": 8192}),
    "1b, rows of 16k, RTX 4090": ("RTX 4090", "1b", {"tokens_per_row": 16384}),
    "1b, rows of 48k, A100": ("A100", "1b", {"tokens_per_row": 49152}),
    "8b lora, rows of 16k, H100": ("H100", "8b", {"tokens_per_row": 16384, "lora_rank": 16}),
}
PLAIN: dict[str, Any] = {"precision": "bfloat16", "max_steps": 3}


def step_of(answer: dict[str, Any]) -> dict[str, Any]:
    """The fullest step, with its tokens and what was expected of it; its peak is that of all steps."""
    if answer["error"]:
        raise SystemExit(answer["error"]["at"])
    place = max(range(len(answer["steps"])), key=lambda step: answer["slots"][step])
    step = {name: value for name, value in answer["steps"][place].items() if name not in ("by_kind", "sent")}
    step["peak"] = max(one["peak"] for one in answer["steps"])
    return {**step, "slots": answer["slots"][place], "formula": answer["formula"][place]}


def row(child: Child, name: str) -> dict[str, Any]:
    """Both ways of one row, and the peak of each rung."""
    chip, shape, values = ROWS[name]
    answer = child.run(SetUp("sft", {**PLAIN, **values, "recompute": "auto"}, shape, chip))
    after = {"rung": answer["choices"]["recompute"], "chunk": answer["choices"]["loss-chunk"], "step": step_of(answer)}
    room = MARGIN * chips.CHIPS[chip].memory
    for rung in RUNGS[1:]:
        more = {"recompute": rung, "loss_chunk": int(after["chunk"].split()[0])}
        answer = child.run(SetUp("sft", {**PLAIN, **values, **more}, shape, chip))
        before = {"rung": rung, "chunk": after["chunk"], "step": step_of(answer)}
        if max(answer["estimates"]) <= room:
            break
    return {"before": before, "after": after, "room": room}


def table(record: dict[str, Any]) -> str:
    """Markdown, from the raw numbers alone."""
    head = ["step", "way", "recomputed", "operations", "kernels", "GB moved beside products", "peak GB", "of", "step"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, found in record["rows"].items():
        chip = ROWS[name][0]
        for way in ("before", "after"):
            step, rung = found[way]["step"], found[way]["rung"]
            longest = max(seconds(step, CHIPS[NAMES.get(chip, chip)], compiled=False))
            cells = [
                name, way, rung, f"{step['flops'] / step['formula']:.2f} of the formula", f"{step['kernels']:,}",
                f"{step['other_bytes'] / 1e9:.0f}", f"{step['peak'] / 1e9:.1f}", f"{found['room'] / 1e9:.1f}",
                f"{1e3 * longest:.0f} ms",
            ]  # fmt: skip
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Count, keep, show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "recorded" / "recomputed.json")
    parser.add_argument("--show", type=Path)
    given = parser.parse_args()
    if given.show:
        print(table(json.loads(given.show.read_text("utf-8"))))
        return
    environment = environments.ensure(environments.default_folder(), sys.executable)
    record: dict[str, Any] = {"packages": list(environments.PACKAGES), "rows": {}}
    with tempfile.TemporaryDirectory() as folder:
        child = Child(environment, Path(folder))
        for name in ROWS:
            record["rows"][name] = row(child, name)
            given.output.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
            print(name, record["rows"][name]["after"]["rung"], file=sys.stderr, flush=True)
        child.close()
    print(table(record))


if __name__ == "__main__":
    main()
