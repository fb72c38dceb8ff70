"""The table behind `envdoctor ablate --claims`: measured anew, or worked out again from the numbers that are kept.

    python -m tests.benchmarks.claims                       # from tests/benchmarks/recorded/claims.json
    python -m tests.benchmarks.claims --measure --env ./env # about 8 minutes; writes both files

A comparison of two environments (`envdoctor ablate --envs OLD NEW --output FILE`) is put in with --environments FILE.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from envdoctor.facts.environment import locate
from envdoctor.render.claims import render
from envdoctor.system import process
from envdoctor.values.document import read_json, write_whole
from rich.console import Console

from tests.benchmarks.claims import answers, experiments, kept

ROOT = Path(__file__).resolve().parents[3]
RAW = ROOT / "tests" / "benchmarks" / "recorded" / "claims.json"
TABLE = ROOT / "lockfiles" / "claims" / "cpu.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.claims", description=__doc__.partition("\n")[0])
    parser.add_argument("--measure", action="store_true", help="time the variants and make the experiments here")
    parser.add_argument("--env", type=Path, default=Path(sys.prefix), help="environment to measure in")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--environments", type=Path, help="JSON of an `ablate --envs` to keep beside the settings")
    parser.add_argument("--raw", type=Path, default=RAW, help="the raw numbers")
    parser.add_argument("--output", type=Path, default=TABLE, help="the table")
    given = parser.parse_args()
    if given.measure:
        measure(given)
    rows, conditions, found = kept.read(given.raw)
    table = answers.document(answers.table(rows, device="cpu", found=found), conditions)
    write_whole(given.output, json.dumps(table, indent=1, ensure_ascii=False) + "\n")
    render(table, Console(highlight=False))
    return 0


def measure(given: argparse.Namespace) -> None:
    """The variants by `envdoctor ablate`, the experiments by their script; raw numbers into a file."""
    with tempfile.TemporaryDirectory(prefix="claims-") as folder:
        output = Path(folder) / "ablation.json"
        words = ["ablate", *answers.variants_to_measure("cpu"), "--target", "cpu", "--env", given.env]
        words += ["--rounds", str(given.rounds), "--output", output]
        code = process.run_attached([sys.executable, "-m", "envdoctor", *map(str, words)], deadline=3600.0)
        if code != 0:
            raise SystemExit(code or 1)
        data = read_json(output, limit=256 * 1024 * 1024)
    before = read_json(given.raw, limit=256 * 1024 * 1024) if given.raw.is_file() else {}
    data["experiments"] = experiments.run(locate(given.env))
    data["environments"] = before.get("environments", [])
    if given.environments is not None:
        data["environments"] = [kept.slim(read_json(given.environments, limit=256 * 1024 * 1024))]
    write_whole(given.raw, json.dumps(kept.slim(data), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    sys.exit(main())
