"""A few of the mutated reports and ramps with every run; a hundred thousand at a time where faults are looked for."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from envdoctor.system import process


@pytest.mark.parametrize("count", [300, pytest.param(100_000, marks=pytest.mark.faults)])
def test_no_text_raises_or_takes_long_or_much(count: int) -> None:
    """In a process of its own, whose peak of memory is that of the texts alone."""
    argv = [sys.executable, "-m", "tests.facts.pasted.mutations", "--count", str(count), "--seed", "1"]
    outcome = process.run(argv, deadline=60 + count / 10, cwd=Path(__file__).resolve().parents[3])
    assert outcome.code == 0, outcome.out + outcome.err
    result = json.loads(outcome.out.splitlines()[-1])
    assert (result["count"], result["failures"], result["memory_exceeded"]) == (count, 0, False)
