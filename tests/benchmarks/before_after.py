"""Preset `before` against the defaults: one workload in fresh processes, taking turns on the same machine.

    python -m tests.benchmarks.before_after [--task sft] [--workload chat-5m] [--rounds 5] [--python PYTHON]
    [--set name=value ...]

Prints one line per run, then the ratio of trained tokens per second (real tokens for gritlm) with its spread over the
rounds, by the clock and by the process's CPU time, which a busy machine disturbs less (most of all with --both
threads=1). With --python the second runs use another interpreter and both use the default settings: that compares two
environments. With --set the second runs are the defaults with those settings changed: that is the worth of one setting.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from trainer.data import workloads

from tests.benchmarks import corpora

ROOT = Path(__file__).resolve().parent.parent.parent


def measured(
    python: str, task: str, workload: str, preset: str, settings: dict[str, Any], folder: Path, seconds: float
) -> dict[str, Any]:
    """The report of one measured run; SystemExit with its message when it failed."""
    report = folder / "report.json"
    data = corpora.data_of(task, workloads.find(workload), preset, folder)
    settings = {**corpora.SHARED[task], "data": data, **settings}
    order = {
        "schema": 1, "task": task, "workload": workload, "preset": preset, "settings": settings, "flags": {},
        "run_folder": str(folder / "run"), "report": str(report),
        "measure": {"windows": 200, "max_warmup_seconds": seconds, "max_seconds": seconds, "probes": False},
    }  # fmt: skip
    (folder / "order.json").write_text(json.dumps(order))
    child = [python, "-m", "trainer", "--order", str(folder / "order.json")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(child, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise SystemExit("%s failed:\n%s" % (" ".join(child), done.stderr))
    result: dict[str, Any] = json.loads(report.read_text())
    return result


def speed(report: dict[str, Any], clock: str) -> float:
    """Tokens per second: the median over windows, which a disturbed window does not move."""
    unit = corpora.UNIT[report["task"]]
    return float(statistics.median(window["tokens"][unit] / window[clock] for window in report["windows"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="sft", choices=list(corpora.SHARED))
    parser.add_argument("--workload", default="chat-5m")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=12.0, help="measured span of each run")
    parser.add_argument("--python", help="another interpreter")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings of the second runs")
    parser.add_argument("--both", nargs="*", default=[], metavar="NAME=VALUE", help="settings of all runs")
    given = parser.parse_args()
    changed, both = (dict(pair.split("=", 1) for pair in pairs) for pairs in (given.set, given.both))
    sides = {
        "A default": (sys.executable, "default", both),
        "B other": (
            given.python or sys.executable,
            "default" if given.python or changed else "before",
            {**both, **changed},
        ),
    }
    reports: dict[str, list[dict[str, Any]]] = {name: [] for name in sides}
    with tempfile.TemporaryDirectory() as name:
        for turn in range(given.rounds):
            for side in list(sides) if turn % 2 == 0 else list(sides)[::-1]:
                python, preset, settings = sides[side]
                report = measured(python, given.task, given.workload, preset, settings, Path(name), given.seconds)
                reports[side].append(report)
                padding = 1 - report["tokens_per_step"]["real"] / report["tokens_per_step"]["slots"]
                stalled = report["contention"]["during"]
                line = "%-10s %7.0f tokens/s  %7.0f per CPU second  padding %2.0f %%  stalled %s"
                figures = (side, speed(report, "seconds"), speed(report, "cpu_seconds"), 100 * padding, stalled)
                print(line % figures, flush=True)
    for clock in ("seconds", "cpu_seconds"):
        ratios = sorted(speed(a, clock) / speed(b, clock) for a, b in zip(*reports.values()))
        values = (clock, statistics.median(ratios), ratios[0], ratios[-1], len(ratios))
        print("default / other by %s: median %.2f, lowest %.2f, highest %.2f of %d pairs" % values)


if __name__ == "__main__":
    main()
