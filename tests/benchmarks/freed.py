"""What keeping freed memory is worth on a CPU: forward and backward passes with and without it, two processes in turns.

python -m tests.benchmarks.freed [--workload chat-5m] [--passes 20] [--record FILE]

Both processes hold the same model and rows of 2,048 tokens; a pass of one is followed by the same pass of the other,
and which of them is first alternates. Told are the ratios of the passes' wall and CPU times, and their page faults.
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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from tests.benchmarks.figures import spread

ROOT = Path(__file__).resolve().parent.parent.parent
LEFT_OUT = 3  # passes of each, which warm up
ROWS = 3


def one_side(workload: str, kept: bool) -> None:
    """A pass for each line that comes in, and a line out with what it cost."""
    from trainer.compute import hostmemory

    from tests.benchmarks import side_ours

    if kept and not hostmemory.keep():
        raise SystemExit("this C library cannot be told what becomes of freed memory")
    with tempfile.TemporaryDirectory() as folder:
        settings = {"workload": workload, "tokens_per_row": 2048, "output": folder + "/run", "cache": folder + "/cache"}
        run, _ = side_ours.assembled({"task": "sft", "settings": settings})
        batches = [run.prepared.source.step(0, index)[0] for index in range(ROWS)]
        for line in sys.stdin:
            batch = batches[int(line) % ROWS]
            before, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
            run.task.loss(run.trainee, batch, run.settings, 1.0 / batch.weight).backward()
            run.trainee.model.zero_grad(set_to_none=True)
            after, seconds = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - wall
            cost = {
                "wall": seconds,
                "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
                "faults": after.ru_minflt - before.ru_minflt,
                "peak_mb": after.ru_maxrss / 1e3,
            }
            print(json.dumps(cost), flush=True)


@contextmanager
def side(workload: str, name: str) -> Iterator[tuple[IO[str], IO[str]]]:
    """A process of one side: where it is told to go on, and where it tells what that cost."""
    command = [sys.executable, "-m", "tests.benchmarks.freed", "--workload", workload, "--side", name]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdin, process.stdout
            process.stdin.close()
            process.wait(timeout=60)
        finally:
            process.kill()


def measured(workload: str, passes: int) -> list[dict[str, Any]]:
    """What each pass cost both sides."""
    found: list[dict[str, Any]] = []
    with ExitStack() as held:
        sides = {name: held.enter_context(side(workload, name)) for name in ("kept", "libc")}
        for number in range(passes + LEFT_OUT):
            costs: dict[str, Any] = {}
            for name in sorted(sides, reverse=bool(number % 2)):
                tell, answer = sides[name]
                tell.write(f"{number // 2}\n")
                tell.flush()
                costs[name] = json.loads(next(line for line in answer if line.startswith("{")))
            found.append(costs)
    return found[LEFT_OUT:]


def main() -> None:
    """Print, and keep, what both sides took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workload", default="chat-5m")
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--side", choices=("kept", "libc"), help=argparse.SUPPRESS)
    parser.add_argument("--record", type=Path)
    given = parser.parse_args()
    if given.side:
        one_side(given.workload, given.side == "kept")
        return
    pairs = measured(given.workload, given.passes)
    for clock in ("wall", "cpu"):
        low, middle, high = spread([one["libc"][clock] / one["kept"][clock] for one in pairs])
        line = "%s: %s without / with: %.3f (quartiles %.3f to %.3f of %d)"
        print(line % (given.workload, clock, middle, low, high, len(pairs)))
    for name in ("libc", "kept"):
        faults, peak = statistics.median(one[name]["faults"] for one in pairs), pairs[-1][name]["peak_mb"]
        print(f"{name}: {faults:.0f} page faults a pass, at most {peak:.0f} MB")
    if given.record:
        known = json.loads(given.record.read_text("utf-8")) if given.record.exists() else {}
        given.record.write_text(json.dumps({**known, given.workload: pairs}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
