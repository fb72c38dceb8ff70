"""How long does `fleet` take over many reports, and how much memory? One pass over files that are there.

    python tests/benchmarks/bench_fleet.py [--reports 1000 10000 100000] [--rounds 5] [--record FILE]

Reports are those of a recorded machine (41 packages, 44 kB), in 50 variants of which three have a package and a driver
of their own; files of one variant are hard links, so that 100,000 of them fit on a disk (their bytes are read and
parsed all the same). Memory is the peak of the process. The largest number is timed once.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
MACHINE = ROOT / "tests" / "facts" / "machines" / "cpu-virtual-machine.json"
VARIANTS = 50


class Pass(NamedTuple):
    seconds: float
    cpu: float
    peak: int  # bytes


def variant(document: dict[str, Any], number: int) -> dict[str, Any]:
    """The machine, with a package, a driver and a power limit of its own; of 50 variants 47 differ in nothing."""
    changed = copy.deepcopy(document)
    if number >= VARIANTS - 3:
        packages = changed["facts"]["packages"]["distributions"]
        packages[number % len(packages)]["version"] = f"0.{number}"
        changed["facts"]["driver"] = {**changed["facts"].get("driver", {}), "kernel_module": f"570.{number}"}
    changed["facts"]["origin"] = {**changed["facts"].get("origin", {}), "collected": f"2026-01-01T00:00:{number:02}"}
    return changed


def write(folder: Path, count: int) -> int:
    """That many reports, a thousand to a folder; bytes of one."""
    document = json.loads(MACHINE.read_text("utf-8"))
    first: list[Path] = []
    for number in range(count):
        path = folder / f"rack{number // 1000:03}" / f"n{number:06}.json"
        path.parent.mkdir(exist_ok=True)
        if number < VARIANTS:
            path.write_text(json.dumps(variant(document, number)))
            first.append(path)
        else:
            os.link(first[number % VARIANTS], path)
    return first[0].stat().st_size


def one_pass(folder: Path) -> Pass:
    """The whole command, with its Python's start."""
    argv = [sys.executable, "-m", "envdoctor", "fleet", str(folder), "--format", "json"]
    began = time.monotonic()
    child = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise SystemExit(f"envdoctor fleet: exit code {child.returncode}")
    return Pass(time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--reports", type=int, nargs="*", default=[1000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--record", type=Path, metavar="FILE", help="keep the figures of every run")
    arguments = parser.parse_args()
    kept = []
    for count in arguments.reports:
        with tempfile.TemporaryDirectory(prefix="bench-fleet-") as name:
            size = write(Path(name), count)
            runs = [one_pass(Path(name)) for _ in range(1 if count == max(arguments.reports) else arguments.rounds)]
        seconds, cpu = (statistics.median(run[each] for run in runs) for each in (0, 1))
        peak = max(run.peak for run in runs) / 1e6
        print(
            f"  {count:7} reports of {size / 1000:.0f} kB: {seconds:.2f} s (CPU {cpu:.2f} s, "
            f"{cpu / count * 1e6:.0f} µs each), peak {peak:.0f} MB, {len(runs)} runs",
            flush=True,
        )
        kept.append({"reports": count, "bytes_each": size, "runs": [run._asdict() for run in runs]})
    if arguments.record:
        document = {"command": " ".join(sys.argv), "pressure": Path("/proc/pressure/cpu").read_text().split("\n")[0]}
        arguments.record.write_text(json.dumps({**document, "passes": kept}, indent=1) + "\n")


if __name__ == "__main__":
    main()
