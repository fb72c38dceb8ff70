"""The child that counts launches for each sampled token, with a growing cache and with one of one size.

    python -m tests.cuda.sampled FOLDER SHAPE...

Prints one JSON line: by shape and value of the setting `sampling_cache`, of a token kernels, graphs, and launches of
the host (kernels outside graphs, and graphs). A token costs the difference of answers of MANY and FEW tokens, so that
the prompt's pass is in neither.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.cuda import adapter, inductor
from tests.cuda.chips import CHIPS
from tests.cuda.device import Device, PretendMode
from tests.cuda.setups import SetUp
from tests.cuda.steps import settings_of
from tests.cuda.watch import WAITING, Step, Through

FEW, MANY = 8, 16
LENGTHS = [20, 31, 40, 25]  # of the prompts


def step_of(shape: str, cache: str, tokens: int, device: Device, folder: Path) -> Step:
    """What answers of so many tokens do to the device."""
    watch = Through()
    watch.tolerant, watch.hopes = True, False  # no answer has ended
    device.waits = watch.waited
    values = {"sampling_cache": cache, "max_new_tokens": tokens}
    with inductor.compiling(device, watch), PretendMode(), watch:
        watch.phase = WAITING
        adapter.sample(settings_of(SetUp("rft", values, shape), folder), LENGTHS)
    return watch.now


def per_token(shape: str, cache: str, device: Device, folder: Path) -> dict[str, Any]:
    """Of one token, behind the first."""
    few, many = (step_of(shape, cache, tokens, device, folder) for tokens in (FEW, MANY))
    kernels, graphs, within = (
        (getattr(many, name) - getattr(few, name)) / (MANY - FEW) for name in ("kernels", "graphs", "in_graphs")
    )
    return {"kernels": kernels, "graphs": graphs, "launches": kernels - within + graphs}


def main() -> None:
    """All shapes that are named."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print
    folder = Path(sys.argv[1])
    device = Device(lambda what: None)
    device.appear(CHIPS["H100"])
    found = {
        shape: {cache: per_token(shape, cache, device, folder) for cache in ("dynamic", "static")}
        for shape in sys.argv[2:]
    }
    answers.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
