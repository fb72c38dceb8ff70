"""How much longer than a bare ``import torch`` does a check take? Interleaved runs, medians.

    python tests/benchmarks/bench_check.py [--env PATH] [--rounds 15] [--packages 60 300 300x217] [--command PATH]
    python tests/benchmarks/bench_check.py --imports      # what `from envdoctor import check` costs a notebook

``--packages`` are environments made for it: so many packages of 40 files, or 300x217, 65,000 files in all. ``--record``
keeps every run's seconds. Times from a busy machine mean little on their own, which is why only ratios of interleaved
runs are judged, and the pressure on the processors is printed beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from envdoctor.system import process  # noqa: E402

from tests.facts.probe.venvs import Venv  # noqa: E402

ENVDOCTOR = [sys.executable, "-m", "envdoctor"]
COLLECT = """
import sys
from pathlib import Path
from envdoctor.facts import collect
from envdoctor.facts.environment import locate
collect.begin(locate(Path(sys.argv[1])), flags_table=Path("trainer/flags.py")).finish()
"""


def timed(argv: Sequence[str | Path], codes: tuple[int, ...] = (0,)) -> float:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    outcome = process.run(argv, deadline=300, cwd=ROOT, env=clean)
    if outcome.code not in codes:
        raise SystemExit(f"{argv}: {outcome.ending}\n{outcome.err}")
    return outcome.seconds


KEPT: list[dict[str, object]] = []  # every comparison's seconds, for --record


def compare(what: str, runs: dict[str, Callable[[], float]], rounds: int) -> None:
    """One of each per round, so that whatever else the machine does falls on all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for name in runs:
        runs[name]()  # disk caches and byte code
    for _ in range(rounds):
        for name, run in runs.items():
            seconds[name].append(run())
    KEPT.append({"what": what, "seconds": {name: [round(one, 4) for one in seconds[name]] for name in runs}})
    first = next(iter(runs))
    for name, values in seconds.items():
        ratios = [value / base for value, base in zip(values, seconds[first], strict=True)]
        quartiles, times = statistics.quantiles(ratios, n=4), statistics.quantiles(values, n=4)
        print(
            f"  {name:34} median {statistics.median(values):6.3f} s ({times[0]:.3f} to {times[2]:.3f})  "
            f"ratio {statistics.median(ratios):5.3f} (quartiles {quartiles[0]:.3f} to {quartiles[2]:.3f})"
        )


def files(what: str, python: Path, prefix: Path, folder: Path, rounds: int) -> None:
    """The two probes that read files, without torch."""
    (folder / "request.json").write_text(json.dumps({"cwd": str(folder), "prefix": str(prefix)}))
    main = ROOT / "envdoctor" / "facts" / "probe" / "__main__.py"

    def probe(program: str, interpreter: Path | str) -> float:
        return timed([interpreter, "-I", "-S", main, program, folder / "request.json", folder / "answer.json"])

    compare(
        what,
        {
            "python -I -S -c pass": lambda: timed([python, "-I", "-S", "-c", "pass"]),
            "environment probe": lambda: probe("environment", python),
            "machine probe": lambda: probe("machine", sys.executable),
            "envdoctor check --no-torch": lambda: timed([*ENVDOCTOR, "check", "--no-torch", "--env", prefix], (0, 1)),
        },
        rounds,
    )
    probe("environment", python)
    lines = [json.loads(line) for line in (folder / "answer.json").read_text().splitlines()]
    listed = sum(entry["files"] for entry in lines[-1]["value"]["files"])
    print(f"  {len(lines[-1]['value']['files'])} packages, {listed} files;", end=" ")
    print(", ".join(f"{line['section']} {line['seconds']} s" for line in lines))


def synthetic(folder: Path, size: str) -> Venv:
    """An environment of so many small packages of 40 files each, which is what packages without torch have at the
    median; or of as many files as the size says ("300x217"), twenty to a folder."""
    count, each = (int(number) for number in (size if "x" in size else f"{size}x40").split("x"))
    venv = Venv(folder / f"env{size}")
    requires = "".join(f"Requires-Dist: package-{number}>=1; extra == 'x'\n" for number in range(12))
    for number in range(count):
        contents = {f"package_{number}/s{index // 20}/m{index}.py": "x = 1\n" * 20 for index in range(each)}
        venv.package(f"package-{number}", files=contents, metadata=requires)
    return venv


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", help="an installed envdoctor to time, instead of this checkout's")
    parser.add_argument("--env", type=Path, default=Path(sys.prefix))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--packages", nargs="*", default=["60", "300", "300x217"], metavar="COUNT[xFILES]")
    parser.add_argument("--no-torch", action="store_true", help="leave out what torch takes")
    parser.add_argument("--record", type=Path, metavar="FILE", help="keep the seconds of every run")
    parser.add_argument("--imports", action="store_true", help="time the import alone, beside a bare start")
    arguments = parser.parse_args()
    if arguments.imports:
        programs = ("pass", "import envdoctor", "from envdoctor import check")
        compare(
            "imports",
            {f"python -c '{one}'": lambda one=one: timed([sys.executable, "-c", one]) for one in programs},
            arguments.rounds,
        )
        return
    python = arguments.env / "bin" / "python"
    if arguments.command:
        ENVDOCTOR[:] = [arguments.command]

    def pressure() -> str:
        return Path("/proc/pressure/cpu").read_text().splitlines()[0]

    started = time.monotonic()
    print(f"{arguments.env}, {arguments.rounds} rounds; {pressure()}")
    check = [*ENVDOCTOR, "check", "--env", arguments.env]
    with tempfile.TemporaryDirectory() as folder:
        if not arguments.no_torch:
            compare(
                "with torch",
                {
                    "python -c 'import torch'": lambda: timed([python, "-c", "import torch"]),
                    "collect.begin ... finish": lambda: timed([sys.executable, "-c", COLLECT, arguments.env]),
                    "envdoctor check": lambda: timed(check, codes=(0, 1)),
                },
                arguments.rounds,
            )
            files("its files", python, arguments.env, Path(folder), arguments.rounds)
        for size in arguments.packages:
            print(f"{size} packages" if "x" in size else f"{size} packages of 40 files")
            venv = synthetic(Path(folder), size)
            files(size, venv.python, venv.path, Path(folder), arguments.rounds)
    print(f"{pressure()}; {time.monotonic() - started:.0f} s")
    if arguments.record:
        document = {"command": " ".join(sys.argv), "pressure": pressure(), "compared": KEPT}
        arguments.record.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
