"""The tables of the page are those of the kept records, and what is said of them is in them."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cuda.counted import CHIPS, seconds
from tests.cuda.record import RECORDED

PAGE = (Path(__file__).parent / "README.md").read_text("utf-8")


def record(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize("name", ["counted", "recomputed", "scaling"])
def test_a_table_is_what_its_command_prints(name: str) -> None:
    module = importlib.import_module(f"tests.cuda.{name}")
    assert f"python -m tests.cuda.{name} --show tests/cuda/recorded/{name}.json" in PAGE
    assert module.table(record(name)) in PAGE


def test_what_only_compiled_layers_reach_is_said_of_them() -> None:
    kept = record("counted")

    def share(name: str, way: str) -> float:
        step = kept["compiled"][name] if way == "compiled" else kept[way][name]["step"]
        return float(
            100 * kept["after"][name]["formula"] / max(seconds(step, CHIPS["H100"], way == "compiled")) / 989.5e12
        )

    def launches(name: str, way: str) -> float:
        step = kept["compiled"][name] if way == "compiled" else kept[way][name]["step"]
        return float(step["kernels"] / kept["before"][name]["step"]["kernels"])

    small, large = "135m sft 16k", "1b sft 16k"
    assert [round(share(small, way)) for way in ("compiled", "after", "liger")] == [36, 29, 34]
    assert round(share(large, "after"), 1) == 49.9
    assert round(launches(large, "after"), 2) == 0.48
    eager = [launches(name, "after") for name in (small, "135m sft 2k", "8b lora 8k")]
    assert (round(min(eager), 2), round(max(eager), 2)) == (0.51, 0.53)
    for way in ("compiled", "liger"):
        assert all(launches(name, way) < 0.5 for name in (small, "135m sft 2k", "8b lora 8k"))
    for way in ("after", "liger"):
        device, host = seconds(kept[way]["135m sft 2k"]["step"], CHIPS["H100"], compiled=False)
        assert host > device
    device, host = seconds(kept["compiled"]["135m sft 2k"], CHIPS["H100"], compiled=True)
    assert device > host


def test_the_suite_has_a_command_for_the_night() -> None:
    nightly = Path(__file__).parents[2] / ".ci" / "nightly"
    assert "`.ci/nightly`" in PAGE
    assert nightly.stat().st_mode & 0o111
    lines = nightly.read_text("utf-8").splitlines()
    assert "pytest -m cuda -n 0" in lines
    assert "pytest -m cuda -n 0 " in PAGE
