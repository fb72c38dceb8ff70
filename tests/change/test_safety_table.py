"""The table of SAFETY.md says what the recorded series say."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]


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
