"""This trainer against transformers' Trainer, TRL and sentence-transformers, in processes that take turns.

    python -m tests.benchmarks.peers [--sizes 5m 30m 135m] [--data FILE] [--quick] [--output peers.json] [--profile]

The first run installs the peers into an environment of their own; all sides, ours too, run in it: the same torch, the
same transformers, the same threads, initial weights, tokens and optimizer numbers. transformers' Trainer runs as it
comes; TRL in its fast variants, of which the fastest counts; each step has about as many tokens on every side. Data
preparation and start-up are outside the timing. Speeds count real tokens, never padding. Chats are the bundled ones, or
those of any file that the trainer reads (`--data`; `tests.benchmarks.chatsets` makes two).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.compute.hardware import bfloat16_units

from tests.benchmarks import machine, peerenv, peertables
from tests.benchmarks.turns import QUIET, ROOT, Side, Slice, interleave

TOKENS_PER_ROW = 1472  # of the bundled chats, as `side_prepare.row_size` finds it; other chats have their own
OPTIMIZER = {"learning_rate": 5e-4, "lr_scheduler_type": "constant", "weight_decay": 0.0, "adam_beta2": 0.95}
OURS = {
    "learning_rate": 5e-4, "schedule": "constant", "warmup_steps": 0, "weight_decay": 0.0, "beta2": 0.95,
}  # fmt: skip

# TRL's ways through the same data. Activation checkpointing, on by default there, is off, and bfloat16 is on where the
# CPU multiplies it: this is TRL at its best. Its loss always is the fused one, which never has all logits in memory.
_BEST = {"gradient_checkpointing": False, "bf16": bool(bfloat16_units())}
_EIGHT = {"per_device_train_batch_size": 8, "max_length": None}
TRL: dict[str, dict[str, Any]] = {
    "packed": {**_BEST, "packing": True, "per_device_train_batch_size": 1},
    "padding-free": {**_BEST, **_EIGHT, "padding_free": True},
    "padded": {**_BEST, **_EIGHT},
    "by length": {**_BEST, **_EIGHT, "train_sampling_strategy": "group_by_length"},
    "packed, defaults": {"packing": True, "per_device_train_batch_size": 1},
}


@dataclass(frozen=True)
class Size:
    """One model size: its workload, and its slices: four to eight minutes each on two cores that are free."""

    workload: str
    rounds: int
    seconds: float
    warmup_steps: int
    trl: tuple[str, ...]  # TRL's variants worth timing at this size
    overhead: tuple[int, int]  # blocks, steps of each
    config: dict[str, Any] | None = None  # what differs from the workload's model


# Batches by length begin with the longest of 400 examples: only a run of fifty steps shows what they cost.
SIZES = {
    "5m": Size("chat-5m", 8, 3.0, 3, ("packed", "padding-free", "padded", "by length"), (8, 6)),
    "30m": Size("chat-30m", 4, 8.0, 2, ("packed", "padding-free"), (5, 2)),
    "135m": Size("chat-135m", 3, 10.0, 1, ("packed",), (2, 1)),
    "toy": Size("chat-5m", 2, 0.5, 2, ("packed",), (2, 2), {"hidden_size": 64, "num_hidden_layers": 2}),
}


def child(python: str, module: str, order: Mapping[str, Any], folder: Path) -> None:
    """Run a module of this package to its end under `python`; SystemExit with its message when it fails."""
    path = folder / (module.rpartition(".")[2] + ".json")
    path.write_text(json.dumps({**order, "folder": str(folder)}), encoding="utf-8")
    started(python, module, [str(path)], folder)


def started(python: str, module: str, arguments: list[str], folder: Path) -> str:
    """What the module printed; SystemExit with the end of its errors when it fails."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **QUIET}
    command = [python, "-m", module, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    if done.returncode:
        raise SystemExit("%s failed:\n%s" % (module, done.stderr[-3000:]))
    return done.stdout


def trl_arguments(name: str, tokens_per_row: int) -> dict[str, Any]:
    """Of one of TRL's ways; its packed rows are as long as ours."""
    return {"max_length": tokens_per_row, **TRL[name]}


def library_side(
    name: str, python: str, library: str, arguments: Mapping[str, Any], common: Mapping[str, Any], folder: Path
) -> Side:
    """transformers' Trainer or TRL's, on the shared examples and weights."""
    shared = folder / "shared"
    order = {
        **common, "library": library, "arguments": arguments, "optimizer": OPTIMIZER,
        "model": str(shared / "model"), "examples": str(shared / "examples.jsonl"),
    }  # fmt: skip
    return Side(name, python, "tests.benchmarks.side_hf", order, folder / name.replace(" ", "-"))


def our_side(
    name: str,
    python: str,
    common: Mapping[str, Any],
    folder: Path,
    asked: Mapping[str, Any] | None = None,
    **more: Any,
) -> Side:
    """This trainer with its defaults, but for what is asked of it, on the same."""
    shared, own = folder / "shared", folder / name.replace(" ", "-")
    settings = {
        "model": str(shared / "model"), "data": [str(shared / "chat.jsonl")],
        "tokens_per_row": common["tokens_per_row"],
        "output": str(own / "run"), "cache": str(folder / "cache"), "threads": common["threads"],
        **OURS, **(asked or {}),
    }  # fmt: skip
    return Side(
        name, python, "tests.benchmarks.side_ours", {**common, "task": "sft", "settings": settings, **more}, own
    )


def same_batches(python: str, folder: Path, threads: int, row: int, steps: int = 6) -> dict[str, list[float]]:
    """Losses of the first steps when every side gets the same eight examples per step: the proof of equal maths."""
    common = {"threads": threads, "warmup_steps": steps, "seconds": 1.0, "tokens_per_row": row}
    ordered = {"train_sampling_strategy": "sequential"}
    exact = {**ordered, "bf16": False}
    free = {**TRL["padding-free"], **exact}
    sides = [
        our_side("same ours", python, common, folder, {"precision": "float32"}, same_batches=8),
        library_side("same hf", python, "transformers", ordered, common, folder),
        library_side("same trl padded", python, "trl", {**TRL["padded"], **exact}, common, folder),
        library_side("same trl padding-free", python, "trl", free, common, folder),
    ]
    for side in sides:
        interleave([side], 0, None)  # one after the other: nothing is timed, and all at once need 24 GB at 135M weights
    return {side.name.partition(" ")[2]: side.facts["losses"] for side in sides}


def compared(
    python: str, size: Size, given: argparse.Namespace, folder: Path, row: int, earlier: Mapping[str, Any]
) -> list[Side]:
    """The timed sides of one size, after their turns, with the slices of `earlier` ones before theirs."""
    common = {
        "threads": given.threads, "warmup_steps": size.warmup_steps, "seconds": given.seconds or size.seconds,
        "tokens_per_row": row,
    }  # fmt: skip
    variants = {"best": size.trl, "all": tuple(TRL)}.get(given.trl, (given.trl,))
    sides = [our_side("ours", python, common, folder, probe=True)]
    if not given.without_hf:
        sides.append(library_side("HF defaults", python, "transformers", {}, common, folder))
    sides += [library_side("TRL " + n, python, "trl", trl_arguments(n, row), common, folder) for n in variants]
    interleave(sides, given.rounds or size.rounds, say_slice)
    for side in sides:
        side.slices[:0] = earlier.get(side.name, {}).get("slices", [])
    return sides


SAME = ("versions", "cpu", "cores", "data")  # what rounds of one record must have in common


def recorded(output: Path | None, now: dict[str, Any]) -> dict[str, Any]:
    """What an earlier call left in the record, under the command of now; SystemExit when it measured something else."""
    if output is None or not output.exists():
        return now
    found = json.loads(output.read_text(encoding="utf-8"))
    other = [name for name in SAME if found.get(name) != now[name]]
    if other:
        raise SystemExit("%s: timed with other %s; choose another --output" % (output, ", ".join(other)))
    return {**now, "commands": found["commands"] + now["commands"], "sizes": found["sizes"]}


def circumstances(python: str, given: argparse.Namespace) -> dict[str, Any]:
    """What a record begins with: the command, the machine, the versions and the chats."""
    data = None
    if given.data:
        data = {"file": given.data.name, "sha256": hashlib.sha256(given.data.read_bytes()).hexdigest()}
    return {
        "schema": 1, "commands": [shlex.join(["python", "-m", "tests.benchmarks.peers", *sys.argv[1:]])],
        **machine.described(), "data": data, "versions": peerenv.versions(python), "sizes": {},
    }  # fmt: skip


def say_slice(number: int, side: Side, piece: Slice) -> None:
    """One line per slice, as it ends."""
    values = (number + 1, side.name, piece["real"] / piece["wall"], piece["real"] / piece["cpu"], int(piece["steps"]))
    print("  round %2d  %-20s %8.0f tokens/s  %8.0f per CPU second  %3d steps" % values, flush=True)


def overhead(python: str, size: Size, given: argparse.Namespace, folder: Path, row: int) -> dict[str, Any]:
    """What of a step is our loop's own, in a process of one thread."""
    blocks, steps = (2, 1) if given.quick else size.overhead
    target = folder / "overhead.json"
    command = [
        python, "-m", "tests.benchmarks.overhead", "--workloads", size.workload, "--blocks", str(blocks), "--steps",
        str(steps), "--tokens-per-row", str(row), "--output", str(target),
        *(["--data", str(folder / "shared" / "chat.jsonl")] if given.data else []),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **QUIET}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    if done.returncode:
        raise SystemExit("overhead failed:\n%s" % done.stderr[-3000:])
    found: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))["workloads"][size.workload]
    return found


def prepare(python: str, size: Size, shared: Path, data: Path | None = None) -> dict[str, Any]:
    """The weights and tokens that all sides of one size share, made in `shared`; their facts."""
    order = {"workload": size.workload, "config": size.config, "data": str(data.resolve()) if data else None}
    child(python, "tests.benchmarks.side_prepare", order, shared)
    found: dict[str, Any] = json.loads((shared / "facts.json").read_text(encoding="utf-8"))
    return found


def one_size(
    name: str, python: str, given: argparse.Namespace, folder: Path, earlier: Mapping[str, Any]
) -> dict[str, Any]:
    """Everything about one size, printed and returned."""
    size, shared = SIZES[name], folder / "shared"
    shared.mkdir(parents=True)
    facts = prepare(python, size, shared, given.data)
    row = facts["tokens_per_row"]
    print(
        "\n%s: %d parameters, %d chats of %s tokens in rows of %d; %d longer than a row are left out"
        % (name, facts["parameters"], facts["examples"], facts["lengths"], row, facts["left_out"])
    )
    sides = compared(python, size, given, folder, row, earlier)
    found: dict[str, Any] = {"facts": facts, **peertables.sides(sides)}
    if not given.without_overhead:
        found["overhead"] = overhead(python, size, given, folder, row)
    if not given.without_check and name == given.sizes[0]:  # the arithmetic is the same at every size
        found["same_batches"] = same_batches(python, folder, given.threads, row)
    print(peertables.size_text(sides, found), flush=True)
    return found


def keep(output: Path | None, found: dict[str, Any]) -> None:
    """What is measured so far, in the file asked for: a later failure costs none of it."""
    if output:
        output.write_text(json.dumps(found, indent=1), encoding="utf-8")


def main() -> None:
    """Measure what was asked for; print tables, goals beside figures, and write the raw JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="*", default=["5m", "30m", "135m"], choices=list(SIZES))
    parser.add_argument("--data", type=Path, help="chats instead of the bundled ones; pairs are left out then")
    parser.add_argument("--rounds", type=int, default=0, help="turns of each side; 0: enough for each size")
    parser.add_argument("--seconds", type=float, default=0.0, help="least length of a slice; 0: enough for each size")
    parser.add_argument("--threads", type=int, default=0, help="of every side; 0: all cores")
    parser.add_argument("--trl", default="best", choices=["best", "all", *TRL])
    parser.add_argument("--pairs-size", default="5m", choices=list(SIZES), help="of the pairs' comparison")
    parser.add_argument("--quick", action="store_true", help="two short rounds, to see that everything runs")
    parser.add_argument("--profile", action="store_true", help="operators of our step, by time")
    for part in ("hf", "overhead", "check", "pairs"):
        parser.add_argument("--without-" + part, action="store_true")
    parser.add_argument("--venv", type=Path, default=None, help="the peers' environment; default: in the user's cache")
    parser.add_argument("--output", type=Path, help="everything measured, as JSON")
    parser.add_argument(
        "--add", action="store_true", help="to the rounds in --output, for a busy machine: few at a time"
    )
    given = parser.parse_args()
    if given.data and not given.data.is_file():
        raise SystemExit("%s: no such file" % given.data)
    if given.quick:
        given.rounds, given.seconds = given.rounds or 2, given.seconds or 0.5
    python = peerenv.interpreter(given.venv or peerenv.default_folder(), lambda text: print(text, flush=True))
    found = circumstances(python, given)
    if given.add:
        found = recorded(given.output, found)
    print(", ".join("%s %s" % item for item in found["versions"].items()), flush=True)
    with tempfile.TemporaryDirectory() as name:
        for size in given.sizes:
            earlier = found["sizes"].get(size, {}).get("raw", {})
            found["sizes"][size] = one_size(size, python, given, Path(name) / size, earlier)
            keep(given.output, found)
            if given.profile:
                model, own = str(Path(name) / size / "shared" / "model"), Path(name) / size
                print(started(python, "tests.benchmarks.profiling", ["--model", model], own), flush=True)
        print(peertables.goals_text(found["sizes"]), flush=True)
        if not given.without_pairs and not given.data:
            from tests.benchmarks import pairs

            found["pairs"] = pairs.compared(python, given, Path(name))
            keep(given.output, found)


if __name__ == "__main__":
    main()
