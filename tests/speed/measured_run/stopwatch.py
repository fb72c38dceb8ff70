"""A stopwatch outside the measured command: the time at which each printed "step N" arrives through the pipe."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FRAMEWORKS = Path(__file__).parent / "scripts" / "frameworks"
STEP = re.compile(r"step (\d+)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One measured command: exit code, arrival of each step's line by this process's clock, and what was said."""

    code: int
    steps: Mapping[int, float]
    found: Mapping[str, Any]  # the JSON that was asked for; empty when none was written
    said: str  # stderr: the command's own, then the doctor's report

    @property
    def rank(self) -> Mapping[str, Any]:
        """The process whose lines were watched: rank 0, or the only one."""
        first: Mapping[str, Any] = self.found["conditions"]["ranks"][0]
        return first

    def by_stopwatch(self) -> float:
        """Steps per second between the two steps that the report says it timed, by the clock outside."""
        first, last = map(int, self.rank["timed_steps"])
        return (last - first) / (self.steps[last] - self.steps[first])

    def by_report(self) -> float:
        """Steps per second over the same steps, by the report's own clock."""
        first, last = map(int, self.rank["timed_steps"])
        return (last - first) / float(self.rank["timed_seconds"])


def timed(
    folder: Path, environment: Path, *argv: str, options: Sequence[str] = (), variables: Mapping[str, str] = {}
) -> Timed:
    """Run ``envdoctor run --measure`` on a command in ``environment``; ``folder`` takes the JSON."""
    path = folder / "run.json"
    doctor = [sys.executable, "-m", "envdoctor", "run", "--env", str(environment), "--target", "cpu", "--measure"]
    with open(folder / "stderr", "w+", encoding="utf-8") as said:
        child = subprocess.Popen(
            [*doctor, *options, "--output", f"json={path}", "--", *argv],
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            cwd=FRAMEWORKS,
            env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "100", **variables},
        )
        assert child.stdout is not None
        arrived = {}
        for line in child.stdout:
            now = time.perf_counter()
            if match := STEP.search(line):
                arrived[int(match[1])] = now
        code = child.wait(60)
        said.seek(0)
        text = said.read()
    found = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return Timed(code=code, steps=arrived, found=found, said=text)
