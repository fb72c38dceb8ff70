"""Where a step of this trainer goes, by operator (torch.profiler) or by Python function (cProfile).

python -m tests.benchmarks.profiling --workload chat-5m [--steps 5] [--rows 15] [--python] [--set name=value ...]
python -m tests.benchmarks.profiling --workload chat-30m --record FILE   # by kind, with operations and bytes counted
python -m tests.benchmarks.profiling --show FILE
"""

from __future__ import annotations

import argparse
import cProfile
import io
import json
import pstats
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry
from trainer import loop
from trainer.compute import process
from trainer.data.counts import Counts
from trainer.state import Run

from tests.benchmarks import machine, side_ours
from tests.benchmarks.achievable import achievable

# Kinds of operators, by what their names begin with; the first that fits.
KINDS = {
    "products": ("mm", "addmm", "bmm", "baddbmm", "linear"),
    "attention": ("_scaled_dot_product",),
    "optimizer": ("_fused_adamw", "_foreach"),
    "casts and copies": ("copy_", "_to_copy", "clone", "cat", "index", "embedding", "zero_", "fill_", "gather"),
    "softmax and loss": ("_log_softmax", "exp", "expm1", "scatter", "logsumexp", "_softmax", "nll", "sum"),
    "norms, positions, activations": (
        "mul", "add", "div", "silu", "rsqrt", "sub", "neg", "pow", "linalg_vector_norm", "square", "mean", "where",
        "masked_fill",
    ),
}  # fmt: skip


def table(order: dict[str, Any], steps: int, rows: int, python: bool = False) -> str:
    """The most expensive entries of `steps` warm steps, by time of their own."""
    run, _ = side_ours.assembled(order)
    with run.trainee.held:
        _steps(run, 2)
        if python:
            watched, text = cProfile.Profile(), io.StringIO()
            watched.runcall(_steps, run, steps)
            pstats.Stats(watched, stream=text).sort_stats("tottime").print_stats(rows)
            return text.getvalue()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            _steps(run, steps)
    found: str = profile.key_averages().table(sort_by="self_cpu_time_total", row_limit=rows, max_name_column_width=50)
    return found


def _steps(run: Run, count: int, tokens: list[float] | None = None) -> None:
    """tokens: real, trained and squares of documents, added up."""
    left = [count]

    def observe(counts: Counts, _: Run) -> bool:
        left[0] -= 1
        for place, size in enumerate((counts.real, counts.trained, counts.squares)):
            if tokens is not None:
                tokens[place] += size
        return left[0] == 0

    loop.train(run, [observe])


def kind_of(name: str) -> str:
    """Of an operator of torch, by its name."""
    return next((kind for kind, begins in KINDS.items() if name.startswith(begins)), "other")


class Counted(TorchDispatchMode):  # type: ignore[misc,unused-ignore]
    """By kind: calls, floating-point operations of products and attention, and bytes read and written."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, dict[str, float]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func.is_view:
            return out
        name = func._schema.name.partition("::")[2]
        row = self.found.setdefault(kind_of(name), {"calls": 0, "flops": 0.0, "bytes": 0.0})
        row["calls"] += 1
        if func._overloadpacket in flop_registry:
            row["flops"] += flop_registry[func._overloadpacket](*args, **(kwargs or {}), out_val=out)
        elif name == "addmm_":
            row["flops"] += 2.0 * args[0].numel() * args[1].shape[-1]
        tensors = {id(leaf): leaf for leaf in tree_leaves((args, kwargs, out)) if isinstance(leaf, torch.Tensor)}
        row["bytes"] += sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
        return out


def recorded(order: dict[str, Any], steps: int) -> dict[str, Any]:
    """Of a warm step: seconds by kind of operator (torch.profiler's own time), what each asks for (counted in another
    step), CPU seconds with and without the profiler, and what products reach here.
    """
    run, work = side_ours.assembled(order)
    freed = side_ours.freed_memory(run)
    with run.trainee.held:
        _steps(run, 2)
        ceiling = achievable()
        tokens = [0.0, 0.0, 0.0]
        begun, cpu = time.perf_counter(), time.process_time()
        _steps(run, steps, tokens)
        wall, cpu = (time.perf_counter() - begun) / steps, (time.process_time() - cpu) / steps
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            _steps(run, steps)
        counted = Counted()
        with counted:
            _steps(run, 1)
    kinds: dict[str, dict[str, float]] = {name: {"seconds": 0.0, **row} for name, row in counted.found.items()}
    others: dict[str, float] = {}
    for event in profile.key_averages():
        seconds = event.self_cpu_time_total / 1e6 / steps
        prefix, _, name = event.key.rpartition("::")
        if prefix in ("aten", "mkldnn"):
            kinds.setdefault(kind_of(name), {"calls": 0, "flops": 0.0, "bytes": 0.0, "seconds": 0.0})
            kinds[kind_of(name)]["seconds"] += seconds
        else:
            others[event.key] = seconds
    return {
        "machine": machine.described(), "versions": process.versions(), "freed_memory": freed,
        "workload": order["settings"]["workload"], "steps": steps, "threads": torch.get_num_threads(),
        "choices": {c.what: c.value for c in run.trainee.choices}, "achievable": ceiling, "wall": wall, "cpu": cpu,
        "useful_flops": work.per_token * tokens[0] / steps + work.per_trained * tokens[1] / steps
        + work.per_square * tokens[2] / steps,
        "kinds": kinds, "others": {name: value for name, value in others.items() if value > 1e-4},
    }  # fmt: skip


def shown(record: dict[str, Any]) -> str:
    """Markdown, from the record alone."""
    total = sum(row["seconds"] for row in record["kinds"].values())
    ceiling = record["achievable"]["bfloat16" if record["choices"].get("precision") == "bfloat16" else "float32"]
    share = record["useful_flops"] / record["wall"] / ceiling
    lines = [
        f"{record['workload']}, {record['threads']} threads: a step takes {record['wall']:.2f} s, "
        f"{record['cpu']:.2f} s of CPU time; {record['useful_flops'] / record['wall'] / 1e9:.0f} GFLOP/s useful, "
        f"{share:.0%} of the best product's {ceiling / 1e9:.0f}",
        "",
        "| operators | of the time | calls | GFLOP | GFLOP/s | GB | GB/s |", "|" + "---|" * 7,
    ]  # fmt: skip
    for name, row in sorted(record["kinds"].items(), key=lambda item: -item[1]["seconds"]):
        seconds = max(row["seconds"], 1e-9)
        rates = (row["flops"] / 1e9, row["flops"] / seconds / 1e9, row["bytes"] / 1e9, row["bytes"] / seconds / 1e9)
        lines.append(
            f"| {name} | {row['seconds'] / total:.0%} | {row['calls']:,.0f} | " + " | ".join(f"{x:,.0f}" for x in rates)
            + " |"
        )  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workload", default="chat-5m")
    for name, value in (("steps", 5), ("rows", 15), ("tokens-per-row", 2048), ("threads", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--model", help="folder with a model, instead of the workload's")
    parser.add_argument("--python", action="store_true", help="Python functions instead of operators")
    parser.add_argument("--task", default="sft")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--show", type=Path)
    given = parser.parse_args()
    if given.show:
        print(shown(json.loads(given.show.read_text("utf-8"))))
        return
    changed = dict(pair.split("=", 1) for pair in given.set)
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "workload": given.workload, "tokens_per_row": given.tokens_per_row, "threads": given.threads,
            "output": folder + "/run", "cache": folder + "/cache", "model": given.model, **changed,
        }  # fmt: skip
        order = {"task": given.task, "settings": settings}
        if given.record:
            record = recorded(order, given.steps)
            given.record.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
            print(shown(record))
            return
        print(table(order, given.steps, given.rows, given.python))


if __name__ == "__main__":
    main()
