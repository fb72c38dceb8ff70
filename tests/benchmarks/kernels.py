"""What trainer.kernels is worth: forward and backward of the same rows with and without it, in one process, in turns.

python -m tests.benchmarks.kernels [--workload chat-5m] [--rounds 10] [--rows 3] [--threads 0]
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from typing import Any

from trainer.model import kernels

from tests.benchmarks import side_ours
from tests.benchmarks.figures import spread

Cost = tuple[float, float]  # wall, CPU seconds


def measured(order: dict[str, Any], rounds: int, rows: int) -> dict[str, list[Cost]]:
    """Costs of `rows` forward and backward passes, by side and round; the first round, which warms up, is left out."""
    run, _ = side_ours.assembled(order)
    run.trainee.held.close()  # the build has installed them
    batches = [run.prepared.source.step(0, index)[0] for index in range(rows)]
    found: dict[str, list[Cost]] = {"with": [], "without": []}
    for turn in range(rounds + 1):
        for side in list(found) if turn % 2 == 0 else list(found)[::-1]:
            with kernels.install_kernels(run.trainee.model) if side == "with" else contextlib.nullcontext():
                wall, cpu = time.perf_counter(), time.process_time()
                for batch in batches:
                    run.task.loss(run.trainee, batch, run.settings, 1.0 / batch.weight).backward()
                    run.trainee.model.zero_grad(set_to_none=True)
                if turn:
                    found[side].append((time.perf_counter() - wall, time.process_time() - cpu))
    return found


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workload", default="chat-5m")
    for name, value in (("rounds", 10), ("rows", 3), ("threads", 0), ("tokens-per-row", 2048)):
        parser.add_argument("--" + name, type=int, default=value)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "workload": given.workload, "tokens_per_row": given.tokens_per_row, "threads": given.threads,
            "output": folder + "/run", "cache": folder + "/cache",
        }  # fmt: skip
        found = measured({"task": "sft", "settings": settings}, given.rounds, given.rows)
    for clock, place in (("wall", 0), ("CPU", 1)):
        low, middle, high = spread([b[place] / a[place] for a, b in zip(found["with"], found["without"])])
        line = "%s: without the kernels a pass takes %.3f times the %s time (quartiles %.3f to %.3f of %d)"
        print(line % (given.workload, middle, clock, low, high, given.rounds))


if __name__ == "__main__":
    main()
