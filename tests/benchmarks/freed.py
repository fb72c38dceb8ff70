"""What keeping freed memory is worth on a CPU: forward and backward passes with and without it, in processes in turns.

python -m tests.benchmarks.freed [--workload chat-5m] [--pairs 5] [--passes 8] [--record FILE]

Each pair is two fresh processes, which of them is first alternates; a process tells the median wall and CPU time of its
passes over a row of 2,048 tokens, their page faults, and its highest resident memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.benchmarks.figures import spread

ROOT = Path(__file__).resolve().parent.parent.parent
LEFT_OUT = 2  # passes, which warm up


def one_side(workload: str, kept: bool, passes: int) -> dict[str, float]:
    """Medians over the passes of this process: seconds, CPU seconds, page faults; and its peak in MB."""
    from trainer.compute import hostmemory

    from tests.benchmarks import side_ours

    if kept and not hostmemory.keep():
        raise SystemExit("this C library cannot be told what becomes of freed memory")
    with tempfile.TemporaryDirectory() as folder:
        settings = {"workload": workload, "tokens_per_row": 2048, "output": folder + "/run", "cache": folder + "/cache"}
        run, _ = side_ours.assembled({"task": "sft", "settings": settings})
        batches = [run.prepared.source.step(0, index)[0] for index in range(3)]
        costs: list[tuple[float, float, float]] = []
        for number in range(passes + LEFT_OUT):
            batch = batches[number % len(batches)]
            before, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
            run.task.loss(run.trainee, batch, run.settings, 1.0 / batch.weight).backward()
            run.trainee.model.zero_grad(set_to_none=True)
            after, seconds = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - wall
            busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            costs.append((seconds, busy, float(after.ru_minflt - before.ru_minflt)))
    wall, cpu, faults = (statistics.median(cost[place] for cost in costs[LEFT_OUT:]) for place in range(3))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return {"wall": wall, "cpu": cpu, "faults": faults, "peak_mb": peak}


def pair(workload: str, passes: int, kept_first: bool) -> dict[str, Any]:
    """Both sides, each in a process of its own."""
    found = {}
    for kept in (kept_first, not kept_first):
        command = [sys.executable, "-m", "tests.benchmarks.freed", "--workload", workload, "--passes", str(passes)]
        command += ["--side", "kept" if kept else "libc"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=True)
        found["kept" if kept else "libc"] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print, and keep, what both sides took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workload", default="chat-5m")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--passes", type=int, default=8)
    parser.add_argument("--side", choices=("kept", "libc"), help=argparse.SUPPRESS)
    parser.add_argument("--record", type=Path)
    given = parser.parse_args()
    if given.side:
        print(json.dumps(one_side(given.workload, given.side == "kept", given.passes)))
        return
    pairs = [pair(given.workload, given.passes, number % 2 == 0) for number in range(given.pairs)]
    for clock in ("wall", "cpu", "peak_mb"):
        low, middle, high = spread([one["libc"][clock] / one["kept"][clock] for one in pairs])
        line = "%s: %s without / with: %.3f (quartiles %.3f to %.3f of %d)"
        print(line % (given.workload, clock, middle, low, high, len(pairs)))
    for side in ("libc", "kept"):
        print(f"{side}: {statistics.median(one[side]['faults'] for one in pairs):.0f} page faults a pass")
    if given.record:
        known = json.loads(given.record.read_text("utf-8")) if given.record.exists() else {}
        given.record.write_text(json.dumps({**known, given.workload: pairs}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
