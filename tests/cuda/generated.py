"""The child that generates: the kernels of the trainer's own compiled layers and of FlexAttention, and cubins of them.

    python -m tests.cuda.generated FOLDER CHIP... [--only WHAT...]

Prints one JSON line for each chip and what was compiled: a whole step of the trainer runs on the pretended chip
(`tests.cuda.steps`), and each kernel that Inductor wrote for it, in both passes, is compiled by Triton's ptxas in every
shape that Inductor would try there.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from tests.cuda.chips import CHIPS
from tests.cuda.cubins import cubins
from tests.cuda.device import Device
from tests.cuda.setups import SetUp
from tests.cuda.steps import answered

# Layers in the precision that each chip gets by default, which is float16 for the T4 and bfloat16 for the others.
WHAT: dict[str, dict[str, Any]] = {
    "plain": {"compile": "on"},
    "lora": {"compile": "on", "lora_rank": 8},
    "flex": {"attention": "flex"},
    "flex float32": {"attention": "flex", "precision": "float32"},
}


def made(chip: str, what: str, device: Device, folder: Path) -> dict[str, Any]:
    """One step's choices, launches and kernels, each kernel with its cubins in every shape."""
    answer, texts = answered(SetUp("sft", {**WHAT[what], "max_steps": 1}, chip=chip), device, folder)
    if answer["error"]:
        return {"chip": chip, "what": what, "error": answer["error"]["at"]}
    return {
        "chip": chip, "what": what, "error": None, "choices": answer["choices"], "reasons": answer["reasons"],
        "launched": answer["steps"][-1]["by_kind"],
        "kernels": {name: [one._asdict() for one in cubins(text, folder)] for name, text in texts.items()},
    }  # fmt: skip


def main() -> None:
    """All chips that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("chips", nargs="+", choices=list(CHIPS))
    parser.add_argument("--only", nargs="+", choices=list(WHAT), default=list(WHAT))
    given = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the trainer prints
    device = Device(lambda what: None)
    for what in given.only:
        for chip in given.chips:
            answers.write(json.dumps(made(chip, what, device, given.folder)) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
