"""What the measuring costs. Run on a machine that does nothing else with: pytest -m bench -n0 -s THIS_FILE (3 minutes).

Two views: blocks of steps inside one process, with the hooks and without (the hooks alone, precise); and whole runs
beside each other (everything: the line sampler, records, start-up hook), each by wall and by CPU time.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from envdoctor.speed.distributions import t_quantile
from envdoctor.speed.measured_run import launch
from envdoctor.system import process

SCRIPTS = Path(__file__).parent / "scripts"
LIMIT = 1.01
PAIRS, STEPS = 8, 500
KEEPING = "glibc.malloc.mmap_threshold=268435456:glibc.malloc.trim_threshold=1073741824"


def ratio(measured: Sequence[float], plain: Sequence[float]) -> tuple[float, float, float]:
    """Median ratio of pairs, and the 95 % interval of their mean."""
    logs = [math.log(one / other) for one, other in zip(measured, plain, strict=True)]
    half = t_quantile(0.975, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    mean = statistics.fmean(logs)
    return math.exp(statistics.median(logs)), math.exp(mean - half), math.exp(mean + half)


@pytest.mark.bench
def test_what_the_hooks_cost_in_steps_of_two_milliseconds(tmp_path: Path) -> None:
    script = SCRIPTS / "millisecond_steps.py"
    outcome = process.run([sys.executable, str(script)], deadline=170, env=launch.variables(tmp_path, dict(os.environ)))
    assert outcome.ok, outcome.err
    found = json.loads(outcome.out)
    measured, plain = zip(*found["pairs"], strict=True)
    middle, low, high = ratio(measured, plain)
    # Neighbours only ever lengthen a block, so on a shared machine the quiet quarter of the blocks tells most.
    quiet = statistics.quantiles(measured, n=4)[0] / statistics.quantiles(plain, n=4)[0]
    step = 1e3 * found["step"]
    print(f"\nhooks, steps of {step:.2f} ms: CPU {middle:.4f} [{low:.4f}, {high:.4f}], lower quartiles {quiet:.4f}")
    assert list(tmp_path.glob("run-*.json"))


@pytest.mark.bench
def test_what_a_whole_measured_run_costs(tmp_path: Path) -> None:
    # Whether glibc gives freed blocks back at every step, or keeps them, hangs on what happens to lie above them: with
    # half a million page faults more a run of this script takes 14 ms per step instead of 8, measured or not.
    plain = {**os.environ, "GLIBC_TUNABLES": KEEPING}
    times: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for number in range(PAIRS):
        for measured in (True, False) if number % 2 else (False, True):
            folder = tmp_path / f"{number}{measured}"
            folder.mkdir()
            variables = launch.variables(folder, plain) if measured else plain
            argv = [sys.executable, str(SCRIPTS / "timed_steps.py"), str(STEPS)]
            outcome = process.run(argv, deadline=120, env=variables)
            assert outcome.ok, outcome.err
            assert bool(list(folder.glob("run-*.json"))) == measured
            wall, cpu = zip(*json.loads(outcome.out), strict=True)
            times[measured].append((statistics.median(wall), statistics.median(cpu)))
    print()
    for index, clock in enumerate(("wall", "CPU, all threads")):
        with_, without = ([pair[index] for pair in times[measured]] for measured in (True, False))
        middle, low, high = ratio(with_, without)
        quiet = min(with_) / min(without)
        step = 1e3 * statistics.median(without)
        print(f"whole runs, steps of {step:.2f} ms: {clock} {middle:.4f} [{low:.4f}, {high:.4f}], least {quiet:.4f}")
        if clock != "wall":
            assert low <= LIMIT, "measuring costs more than 1 % of the CPU time, beyond what chance explains"
