"""One process against two on the same cores.

    python -m tests.benchmarks.two_processes [--rounds 3] [--add] [--steps 24] [--workload chat-5m]

Three ways to the same steps take turns: one process on one thread (two micro-batches a step), two processes on one
thread each (one micro-batch each), and one process on two threads. Efficiency is the pace of the second over twice that
of the first. The raw paces go to recorded/two_processes.json, after every round; --add puts more rounds to those of the
same machine, versions and steps.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from trainer.compute import process

from tests.benchmarks import machine
from tests.trainer.launching import finish, start, torchrun

RECORD = Path(__file__).parent / "recorded" / "two_processes.json"
ALONE = [sys.executable, "-m", "trainer"]
SAME = ("cpu", "cores", "versions", "workload", "steps")  # of rounds in one record
WAYS: dict[str, tuple[int, dict[str, int]]] = {
    "one process, one thread": (1, {"threads": 1, "accumulate": 2}),
    "two processes, one thread each": (2, {"threads": 1, "accumulate": 1}),
    "one process, two threads": (1, {"threads": 2, "accumulate": 2}),
}


def pace(processes: int, values: dict[str, Any], folder: Path) -> float:
    """Real tokens a second, of all processes: the median of the logs behind the first two."""
    launcher = torchrun(processes) if processes > 1 else ALONE
    finish(start(launcher, "sft", values, folder), folder)
    rows = (folder / "run" / "metrics.jsonl").read_text("utf-8").splitlines()
    return statistics.median(json.loads(row)["real_tokens_per_second"] for row in rows[2:])


def earlier(path: Path, now: dict[str, Any]) -> dict[str, list[float]]:
    """Paces by way that `path` has of the same circumstances as `now`; SystemExit when they are others."""
    found = json.loads(path.read_text("utf-8"))
    other = [name for name in SAME if found.get(name) != now[name]]
    if other:
        raise SystemExit(f"{path}: timed with another {', '.join(other)}; leave --add out")
    paces: dict[str, list[float]] = found["real_tokens_per_second"]
    return paces


def ratios(first: list[float], second: list[float], times: int) -> list[float]:
    """second / (times x first), round by round, in order of size."""
    return sorted(b / (times * a) for a, b in zip(first, second, strict=True))


def main() -> None:
    """Take turns, keep, show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--workload", default="chat-5m")
    parser.add_argument("--add", action="store_true", help="to the rounds that are recorded, for a busy machine")
    given = parser.parse_args()
    shared = {
        "workload": given.workload, "device": "cpu", "precision": "float32", "compile": "off", "recompute": "none",
        "save_model": False, "resume": "never", "loader_workers": 0, "max_steps": given.steps, "log_every": 4,
    }  # fmt: skip
    record: dict[str, Any] = {
        **machine.described(), "versions": process.versions(), "workload": given.workload, "steps": given.steps,
    }  # fmt: skip
    paces: dict[str, list[float]] = earlier(RECORD, record) if given.add else {name: [] for name in WAYS}
    one, two, threads = (paces[name] for name in WAYS)
    with tempfile.TemporaryDirectory() as place:
        shared["cache"] = f"{place}/tokens"
        for turn in range(given.rounds):
            for name in list(WAYS) if turn % 2 == 0 else list(WAYS)[::-1]:
                processes, values = WAYS[name]
                folder = Path(place, f"{turn}-{len(paces[name])}-{processes}-{values['threads']}")
                paces[name].append(round(pace(processes, {**shared, **values}, folder), 1))
            record.update({"real_tokens_per_second": paces, "efficiency": ratios(one, two, 2)})
            RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    efficiency, beside = ratios(one, two, 2), ratios(threads, two, 1)
    for name, found in paces.items():
        print(f"{name:<32}{statistics.median(found):>8,.0f} tokens/s   {found}")
    print(
        f"efficiency of two processes {statistics.median(efficiency):.2f} ({efficiency[0]:.2f} to {efficiency[-1]:.2f})"
    )
    print(f"two processes over two threads {statistics.median(beside):.2f} ({beside[0]:.2f} to {beside[-1]:.2f})")


if __name__ == "__main__":
    main()
