"""Where a step of this trainer goes, by operator (torch.profiler) or by Python function (cProfile).

python -m tests.benchmarks.profiling --workload chat-5m [--steps 5] [--rows 15] [--python] [--set name=value ...]
"""

from __future__ import annotations

import argparse
import cProfile
import io
import pstats
import tempfile
from typing import Any

import torch
from trainer import loop
from trainer.data.counts import Counts
from trainer.state import Run

from tests.benchmarks import side_ours


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


def _steps(run: Run, count: int) -> None:
    left = [count]

    def observe(_: Counts, __: Run) -> bool:
        left[0] -= 1
        return left[0] == 0

    loop.train(run, [observe])


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
    given = parser.parse_args()
    changed = dict(pair.split("=", 1) for pair in given.set)
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "workload": given.workload, "tokens_per_row": given.tokens_per_row, "threads": given.threads,
            "output": folder + "/run", "cache": folder + "/cache", "model": given.model, **changed,
        }  # fmt: skip
        print(table({"task": given.task, "settings": settings}, given.steps, given.rows, given.python))


if __name__ == "__main__":
    main()
