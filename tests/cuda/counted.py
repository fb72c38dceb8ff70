"""Counted work of a step, before and after, and what it would take on chips that nobody here has: a table.

    python -m tests.cuda.counted [--output tests/cuda/recorded/counted.json]
    python -m tests.cuda.counted --show tests/cuda/recorded/counted.json

"before" is the same trainer with the settings that switch its savings off. Kernels, bytes and operations are counted on
tensors without content; times are a roofline of them (`seconds`), and no GPU was touched. "compiled" replaces the
layers' share of the eager step by what Inductor makes of a layer.

The second table is modelled from that, and no graph was captured: of each compiled layer the host launches one CUDA
graph for each pass instead of its kernels (the setting `graphs`). What a GPU saves between the kernels of a graph, and
what copying their inputs takes, is left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.cuda import environment as environments
from tests.cuda.child import ROOT, Child
from tests.cuda.setups import SHAPES, SetUp


@dataclass(frozen=True)
class Rates:
    """Dense bfloat16 peak and what of it products reach, TFLOP/s; memory that elementwise kernels reach, TB/s."""

    peak: float
    products: float
    memory: float


# Peaks by the data sheets. Products: the best of many shapes (the H100 by its maker's own measurements about 0.7 of the
# peak under its power limit, the others likewise); memory: 0.87 of the rated bandwidth.
CHIPS = {
    "H100": Rates(989.5, 700, 2.9), "A100": Rates(312, 250, 1.75), "4090": Rates(165.2, 155, 0.92),
    "B200": Rates(2250, 1500, 6.9),
}  # fmt: skip
ATTENTION = 0.6  # of the rate of products
LEAST = 2.2e-6  # seconds of the smallest kernel
LAUNCH = 5.5e-6  # seconds of the host for each launch, eager; a compiled graph's launcher needs about half
PASSES = 2  # of a layer in a step
BASE: dict[str, Any] = {"precision": "bfloat16", "recompute": "auto", "max_steps": 3}
OFF: dict[str, Any] = {"residual": "float32", "loss_chunk": 256, "lora_fused": False}
SETUPS = {
    "135m sft 16k": SetUp("sft", {**BASE, "tokens_per_row": 16384}, "135m"),
    "135m sft 2k": SetUp("sft", {**BASE, "tokens_per_row": 2048}, "135m"),
    "1b sft 16k": SetUp("sft", {**BASE, "tokens_per_row": 16384}, "1b"),
    "8b lora 8k": SetUp("sft", {**BASE, "tokens_per_row": 8192, "lora_rank": 16}, "8b"),
}


def seconds(step: dict[str, Any], rates: Rates, compiled: bool) -> tuple[float, float]:
    """(of the GPU, of the host's launches) for one step."""
    host = step["kernels"] * LAUNCH * (0.5 if compiled else 1.0)
    host = step["launches"] * LAUNCH if "launches" in step else host
    products = (step["flops"] - step["attention"]) / (rates.products * 1e12)
    attention = step["attention"] / (ATTENTION * rates.products * 1e12)
    other = step["other_bytes"] / (rates.memory * 1e12) + step["small"] * LEAST
    return products + attention + other, host


def counted(
    environment: environments.Environment, names: Sequence[str], more: dict[str, Any], libraries: Sequence[Path] = ()
) -> dict[str, Any]:
    """By set-up: a step with a full row, the formula's operations, and what was chosen."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        child = Child(environment, Path(folder), libraries=libraries)
        for name in names:
            set_up = replace(SETUPS[name], values={**SETUPS[name].values, **more})
            answer = child.run(set_up)
            if answer["error"]:
                raise SystemExit(answer["error"]["at"])
            # The fullest of the steps behind the first: the last row of so few chats is short, those of real data are
            # 98 % full.
            place = max(range(1, len(answer["steps"])), key=lambda step: answer["slots"][step])
            step = {key: value for key, value in answer["steps"][place].items() if key != "by_kind"}
            filled = answer["slots"][place] / set_up.values["tokens_per_row"]
            choices = answer["choices"]
            found[name] = {"step": step, "formula": answer["formula"][place], "filled": filled, "choices": choices}
        child.close()
    return found


def layers(environment: environments.Environment, names: Sequence[str]) -> dict[str, Any]:
    """By set-up, what a layer is before, eager and compiled."""
    words = {
        name: f"{set_up.shape}:{set_up.values['tokens_per_row']}:{set_up.values.get('lora_rank', 0)}"
        for name, set_up in SETUPS.items()
        if name in names
    }
    with tempfile.TemporaryDirectory() as folder:
        own = {"TRITON_CACHE_DIR": f"{folder}/t", "TORCHINDUCTOR_CACHE_DIR": f"{folder}/i"}
        done = subprocess.run(
            [str(environment.python), "-m", "tests.cuda.compiled", *words.values()], cwd=ROOT, text=True,
            env={**environment.variables(ROOT), **own}, capture_output=True, timeout=1800, check=False,
        )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    answer = json.loads(done.stdout.splitlines()[-1])
    return {name: answer[word] for name, word in words.items()}


def compiled(name: str, found: dict[str, Any], one: dict[str, Any]) -> dict[str, Any]:
    """The eager step with compiled layers: what a layer was is taken out and put back fused.

    As far as the row is filled: a compiled run fills it up, and what the filling costs is left out here (rows of real
    data are 98 % full).
    """
    step, count = dict(found["step"]), SHAPES[SETUPS[name].shape]["num_hidden_layers"]
    for key, filled in (("kernels", 1.0), ("small", 1.0), ("other_bytes", found["filled"])):
        step[key] = max(0, step[key] + count * filled * (one["compiled"][key] - one["eager"][key]))
    step["kernels"] = round(step["kernels"])
    return step


def captured(name: str, step: dict[str, Any], one: dict[str, Any]) -> dict[str, Any]:
    """The compiled step with its layers as CUDA graphs: `launches` of the host, beside its kernels. Modelled."""
    count = SHAPES[SETUPS[name].shape]["num_hidden_layers"]
    return {**step, "launches": step["kernels"] - count * (one["compiled"]["kernels"] - PASSES)}


def graphs(record: dict[str, Any]) -> str:
    """Markdown: by step and chip, milliseconds of the GPU and of the host with and without graphs, and what they take
    off a step, which is as long as the longer of the two.
    """
    head = ["step, compiled; modelled", "launches", "as graphs", "chip", "GPU", "host", "host, graphs", "off the step"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, step in record["compiled"].items():
        by_graph = captured(name, step, record["layers"][name])
        for chip, rates in CHIPS.items():
            (device, host), (_, less) = (seconds(one, rates, True) for one in (step, by_graph))
            times = [device, host, less, max(device, host) - max(device, less)]
            cells = [name, f"{step['kernels']:,}", f"{by_graph['launches']:,}", chip]
            lines.append("| " + " | ".join([*cells, *(f"{1e3 * time:.1f} ms" for time in times)]) + " |")
    return "\n".join(lines)


def table(record: dict[str, Any]) -> str:
    """Markdown, from the raw numbers alone."""
    head = ["step", "way", "kernels", "GB moved beside products", "peak GB", *CHIPS]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, found in record["after"].items():
        ways: dict[str, Any] = {way: record[way][name]["step"] for way in ("before", "after") if way in record}
        if "liger" in record:
            ways["after, Liger"] = record["liger"][name]["step"]
        ways["after, compiled"] = record["compiled"][name]
        for way, step in ways.items():
            cells = [name, way, f"{step['kernels']:,}", f"{step['other_bytes'] / 1e9:.0f}", f"{step['peak'] / 1e9:.1f}"]
            for rates in CHIPS.values():
                device, host = seconds(step, rates, "compiled" in way)
                longest = max(device, host)
                share = 100 * found["formula"] / longest / (rates.peak * 1e12)
                cells.append(f"{1e3 * longest:.0f} ms {share:.0f} %{' (host)' if host > device else ''}")
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Count, keep, show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "recorded" / "counted.json")
    parser.add_argument("--show", type=Path)
    parser.add_argument("--only", nargs="+", choices=list(SETUPS), default=list(SETUPS))
    given = parser.parse_args()
    if given.show:
        record = json.loads(given.show.read_text("utf-8"))
        print(table(record), graphs(record), sep="\n\n")
        return
    environment = environments.ensure(environments.default_folder(), sys.executable)
    record = {"packages": list(environments.PACKAGES)}
    record["before"] = counted(environment, given.only, OFF)
    record["after"] = counted(environment, given.only, {})
    library = environments.library(environment, environments.LIGER)
    record["liger"] = counted(environment, given.only, {"liger": "auto"}, [library])
    record["layers"] = layers(environment, given.only)
    each = record["layers"]
    record["compiled"] = {name: compiled(name, found, each[name]) for name, found in record["after"].items()}
    given.output.parent.mkdir(exist_ok=True)
    given.output.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    print(table(record), graphs(record), sep="\n\n")


if __name__ == "__main__":
    main()
