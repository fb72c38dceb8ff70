"""A short real series on this machine: no neighbour is taken for a slow environment, and the file left is whole.

The published series is `python -m tests.speed.series --runs 80 --disturb half` (about 20 minutes on two quiet cores).
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from envdoctor.system import process
from tests.speed.series.recording import read
from tests.speed.series.table import WORDS, of_runs

pytestmark = pytest.mark.bench
ROOT = Path(__file__).resolve().parents[2]


def test_a_short_series(tmp_path: Path) -> None:
    output = tmp_path / "aa.json"
    words = ["--runs", "4", "--baseline", "4", "--disturb", "half", "--output", str(output)]
    outcome = process.run([sys.executable, "-m", "tests.speed.series", *words], deadline=1200, cwd=ROOT)
    assert outcome.ok, outcome.err
    print(outcome.out)
    series = read(output)
    assert [run.condition.partition(":")[0] for run in series.runs] == ["quiet", "disturbed"] * 2
    assert {run.word for run in series.runs} <= set(WORDS)
    assert not [run for run in series.of("disturbed") if run.word == "slower"]
    assert outcome.out.splitlines()[: len(of_runs(series.runs))] == of_runs(series.runs)
    assert output.stat().st_size < 100_000
