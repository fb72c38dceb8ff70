"""What the measuring costs: blocks of steps with the hooks and without, interleaved. Run with: pytest -m bench -s"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
from pathlib import Path

import pytest

from envdoctor import process
from envdoctor.speed.distributions import t_quantile
from envdoctor.speed.measured_run import launch

SCRIPT = Path(__file__).parent / "scripts" / "millisecond_steps.py"


@pytest.mark.bench
def test_what_measuring_costs_in_steps_of_two_milliseconds(tmp_path: Path) -> None:
    outcome = process.run([sys.executable, str(SCRIPT)], deadline=170, env=launch.variables(tmp_path, dict(os.environ)))
    assert outcome.ok, outcome.err
    found = json.loads(outcome.out)
    logs = [math.log(measured / plain) for measured, plain in found["pairs"]]
    error = t_quantile(0.975, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    cost = statistics.median(logs)
    # Neighbours only ever lengthen a block, so on a shared machine the quiet quarter of the blocks tells most.
    measured, plain = (statistics.quantiles(blocks, n=4)[0] for blocks in zip(*found["pairs"], strict=True))
    print(
        f"\nsteps of {1e3 * found['step']:.2f} ms: measured / plain = {math.exp(cost):.4f} +- {error:.4f} of CPU time"
        f" (pairs), {measured / plain:.4f} (lower quartiles)"
    )
    assert list(tmp_path.glob("run-*.json"))
