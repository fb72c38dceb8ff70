"""What is modelled from counted steps: by hand, from the numbers that were kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cuda import counted

RECORD: dict[str, Any] = json.loads((Path(counted.__file__).parent / "recorded" / "counted.json").read_text("utf-8"))
SMALL = "135m sft 2k"


def test_a_layer_as_two_graphs() -> None:
    """30 layers of 49 kernels are launched as 60 graphs; all else stays, the GPU's own work too."""
    step, layer = RECORD["compiled"][SMALL], RECORD["layers"][SMALL]
    found = counted.captured(SMALL, step, layer)
    assert layer["compiled"]["kernels"] == 49
    assert found["launches"] == step["kernels"] - 30 * 49 + 60
    for rates in counted.CHIPS.values():
        (device, host), (same, less) = (counted.seconds(one, rates, True) for one in (step, found))
        assert device == same
        assert less / host == pytest.approx(2 * found["launches"] / step["kernels"]), "by a launcher half as fast"


def test_graphs_take_off_what_the_host_is_longer_than_the_gpu() -> None:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in counted.graphs(RECORD).splitlines()[2:]]
    assert len(rows) == len(counted.SETUPS) * len(counted.CHIPS)
    off = {(row[0], row[3]): [float(cell.removesuffix(" ms")) for cell in row[4:]] for row in rows}
    for device, host, less, saved in off.values():
        assert saved == pytest.approx(max(device, host) - max(device, less), abs=0.11)
    assert off[SMALL, "B200"][-1] > 0 == off[SMALL, "H100"][-1]
