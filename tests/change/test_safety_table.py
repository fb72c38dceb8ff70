"""The table of SAFETY.md says what the recorded series say."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]
SHORT = {
    "killed at a system call": "SIGKILL at a system call of `fix` where folders cannot be exchanged",
    "damaged cache": "a package from a warm cache",
    "full disk": "a disk that is full at some point",
    "hostile wheel": "a wheel of the locked hash with hostile contents",
    "mutated report": "a report mutated, or made into a ramp",
}
"""Rows of README's table, and how the rows of SAFETY.md begin that they are taken from."""


def test_each_recorded_line_is_the_sum_of_its_series() -> None:
    sums: dict[str, Counter[str]] = {}
    for line in (TESTS / "change" / "recorded" / "safety.jsonl").read_text("utf-8").splitlines():
        found = json.loads(line)
        told = sums.setdefault(found["series"], Counter())
        told.update({"trials": found["trials"], "bad": found["bad"]})
        told.update({f"{name}, trials": found.get("beside", {}).get(f"{name}, trials", 0) for name in ("pip", "uv")})
        told.update({name: found.get("beside", {}).get(f"{name}, bad", 0) for name in ("pip", "uv")})
    rows = re.findall(
        r"^\| [^|]+ \| (\d+) \| (\d+) \| ([^|]*)\| ([^|]*)\| `python -m tests\.change\.safety (\w+) \d+` \|$",
        (TESTS / "SAFETY.md").read_text("utf-8"),
        re.MULTILINE,
    )
    assert len(rows) >= 9
    for trials, bad, pip, uv, series in rows:
        told = sums[series]
        assert (int(trials), int(bad)) == (told["trials"], told["bad"]), series
        for name, cell in (("pip", pip), ("uv", uv)):
            count = told[f"{name}, trials"]
            assert cell.strip() == (f"{told[name]} ({count})" if count else ""), (series, name)


def test_readme_says_what_the_table_says() -> None:
    """Every number of a row of README's stands in the row that it is taken from."""
    (block,) = re.findall(
        r"^\| situation \|.*\n\|[-|]+\n((?:\|.*\n)+)", (TESTS.parent / "README.md").read_text(), re.MULTILINE
    )
    rows = [[cell.strip() for cell in line.strip("|\n ").split("|")] for line in block.splitlines()]
    assert [situation for situation, *_ in rows] == list(SHORT)
    full = (TESTS / "SAFETY.md").read_text("utf-8").splitlines()
    for situation, *cells in rows:
        (row,) = (line for line in full if line.startswith(f"| {SHORT[situation]}"))
        numbers = re.findall(r"\d[\d,]*", row)
        for cell in cells:
            assert set(re.findall(r"\d[\d,]*", cell)) <= set(numbers), (situation, cell)
