"""What making the value classes of a check costs: ours, the standard dataclass, msgspec (where it is installed).

    python tests/benchmarks/bench_values.py [--classes 160] [--rounds 9] [--output PATH]

Each way in a fresh process per round, in turns: processor seconds from before the import of what makes the classes
until all of them are made. Raw seconds go to ``recorded/values.json``.
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

ROOT = Path(__file__).resolve().parents[2]

WAYS = {
    "ours": (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\nfrom envdoctor.values.frozen import frozen\n",
        "@frozen\nclass {}:\n",
    ),
    "standard": (
        "from dataclasses import dataclass\n",
        "@dataclass(frozen=True, slots=True, kw_only=True)\nclass {}:\n",
    ),
    "msgspec": ("from msgspec import Struct\n", "class {}(Struct, frozen=True, kw_only=True):\n"),
}
FIELDS = "".join(f"    f{n}: str | None{' = None' if n > 2 else ''}\n" for n in range(6))
RUN = "import dataclasses, json, time; t = time.process_time(); import {}; print(time.process_time() - t)"


def module(way: str, classes: int) -> str:
    head, line = WAYS[way]
    return (
        "from __future__ import annotations\n" + head + "".join(line.format(f"C{n}") + FIELDS for n in range(classes))
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classes", type=int, default=160)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--output", type=Path, default=ROOT / "tests/benchmarks/recorded/values.json")
    asked = parser.parse_args()
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        for way in WAYS:
            Path(folder, f"made_{way}.py").write_text(module(way, asked.classes), encoding="utf-8")
        for turn in range(asked.rounds + 1):  # the first writes the byte code
            for way in WAYS:
                words = [sys.executable, "-c", RUN.format(f"made_{way}")]
                done = subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, check=False)
                if turn and done.returncode == 0:
                    seconds[way].append(float(done.stdout))
    for way, values in seconds.items():
        if values:
            print(f"  {way:10} median {statistics.median(values) * 1e3:6.1f} ms  least {min(values) * 1e3:6.1f} ms")
        else:
            print(f"  {way:10} is not installed")
    asked.output.write_text(
        json.dumps({"classes": asked.classes, "seconds": seconds}, indent=1) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
