"""Real verify runs, one after the other: quiet, beside neighbours, and with slow-downs of known size.

    python -m tests.speed.series --runs 80 --disturb half --output tests/speed/recorded/aa.json
    python -m tests.speed.series --runs 30 --inject 3,5,8,15,one-thread --output tests/speed/recorded/injected.json
    python -m tests.speed.series --replay 2000 --from tests/speed/recorded/aa.json

A baseline is recorded first, in the same series. Only the workload is smaller than verify's own (rows of 384 tokens,
short windows), so that a run takes about twelve seconds; everything else is verify itself. tests/speed/simulation.py
answers the same questions for simulated machines.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from envdoctor import doctor
from envdoctor.errors import Trouble
from envdoctor.facts.environment import Environment, locate
from envdoctor.facts.model import Facts
from envdoctor.launch.trainer import Measure
from envdoctor.locks.target import Target
from envdoctor.rules.checkup import CheckOptions
from envdoctor.speed.baselines import recording
from envdoctor.speed.report import Report
from envdoctor.speed.timing import TimingOptions, run_once, time_and_judge
from tests.speed.series.conditions import QUIET, Condition, injected, neighbour, under
from tests.speed.series.recording import Run, Series, write
from tests.speed.series.replay import replay
from tests.speed.series.table import of_runs

WORKLOAD = "chat-5m"
SMALL = {"tokens_per_row": 384, "over_long": "skip"}
SHORT = Measure(windows=10, window_seconds=0.2, max_warmup_seconds=8.0)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.speed.series", description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=80, help="verify runs after the baseline")
    parser.add_argument("--baseline", type=int, default=10, help="processes of the baseline")
    parser.add_argument("--disturb", choices=("none", "half"), default="none", help="neighbours beside every other run")
    parser.add_argument("--inject", default="", help="slow-downs in percent and faults, taken in turn, by commas")
    parser.add_argument("--minutes", type=float, default=30.0, help="no further run is begun after this time")
    parser.add_argument("--env", type=Path, default=Path(sys.prefix), help="environment to time")
    parser.add_argument("--output", type=Path, help="raw windows and verdicts")
    parser.add_argument("--replay", type=int, metavar="N", help="judge N times from recorded windows instead")
    parser.add_argument("--from", dest="source", type=Path, default=Path("tests/speed/recorded/aa.json"))
    given = parser.parse_args()
    if given.replay:
        print("\n".join(replay(given.source, given.replay)))
        return 0
    with tempfile.TemporaryDirectory(prefix="series-") as state:
        os.environ["XDG_STATE_HOME"] = state  # the user's own kept runs are not pushed out by these
        series = measure(given)
    print("\n".join(of_runs(series.runs)))
    if given.output:
        write(series, given.output)
        print(f"{given.output}: {given.output.stat().st_size / 1e3:.0f} kB", file=sys.stderr)
    return 0


def conditions(given: argparse.Namespace) -> list[Condition]:
    """The condition of each run; kinds take turns, so that the machine's slow changes meet them alike."""
    if given.inject:
        kinds = [QUIET, *(injected(word.strip()) for word in given.inject.split(","))]
        return [kinds[number % len(kinds)] for number in range(given.runs)]
    if given.disturb == "half":
        return [QUIET if number % 2 == 0 else neighbour(number // 2) for number in range(given.runs)]
    return [QUIET] * given.runs


def measure(given: argparse.Namespace) -> Series:
    environment = locate(given.env)
    checkup = doctor.examine(environment, CheckOptions(target="cpu"))
    if checkup.target.choice is None:
        raise SystemExit(f"no stack fits this environment: {checkup.target.no_choice}")
    began = time.monotonic()
    base = [_process(environment, checkup.target, number, given.baseline) for number in range(given.baseline)]
    target, noisy = _with_baseline(checkup.target, base)
    runs: list[Run] = []
    timing = TimingOptions(workload=WORKLOAD, measure=SHORT, settings=SMALL)
    for number, condition in enumerate(conditions(given), 1):
        if time.monotonic() - began > 60.0 * given.minutes:
            print(f"time is up after {number - 1} runs", file=sys.stderr)
            break
        runs.append(_verify(environment, target, timing, condition, checkup.facts))
        run = runs[-1]
        ratio = f"{run.ratio:.3f}" if run.ratio is not None else "-"
        print(
            f"{number:>4} {condition.name:<24} {run.word:<15} ratio {ratio} ({len(run.reports)} processes, "
            f"{run.seconds:.0f} s) {run.reasons[0] if run.reasons else ''}",
            file=sys.stderr,
            flush=True,
        )
    command = "python -m tests.speed.series " + " ".join(
        f"--{name} {getattr(given, name)}" for name in ("runs", "baseline", "disturb", "inject") if getattr(given, name)
    )
    return Series(made=time.strftime("%Y-%m-%d"), command=command, noisy=noisy, baseline=tuple(base), runs=tuple(runs))


def _process(environment: Environment, target: Target, number: int, of: int) -> Report:
    print(f"baseline: process {number + 1} of {of}", file=sys.stderr, flush=True)
    return run_once(environment, target, WORKLOAD, SHORT, settings=SMALL, on_line=_silent)


def _with_baseline(target: Target, base: list[Report]) -> tuple[Target, bool]:
    """The target with the baseline just timed; with its disturbances where the machine was not quiet."""
    assert target.choice is not None
    noisy = False
    try:
        found = recording.record(base, target, target.choice.stack, command="tests.speed.series")
    except Trouble as trouble:
        print(f"the baseline is disturbed, and kept with that: {trouble.problem}", file=sys.stderr)
        noisy = True
        found = recording.record(base, target, target.choice.stack, command="tests.speed.series", noisy=True)
    return replace(target, baselines=(found,)), noisy


def _verify(environment: Environment, target: Target, timing: TimingOptions, condition: Condition, facts: Facts) -> Run:
    asked = replace(timing, settings={**timing.settings, **condition.settings})
    began = time.monotonic()
    with under(condition):
        verdict = time_and_judge(
            environment, condition.target(target), asked, facts=facts, progress=_silent, on_line=_silent
        )
    return Run(
        condition=condition.name,
        true=condition.true,
        word=verdict.word,
        cause=verdict.cause,
        ratio=verdict.comparison.ratio if verdict.comparison else None,
        detectable=verdict.comparison.detectable if verdict.comparison else None,
        seconds=time.monotonic() - began,
        reports=verdict.reports,
        reasons=verdict.reasons,
    )


def _silent(_: str) -> None:
    """The trainer's lines are not shown."""


if __name__ == "__main__":
    sys.exit(main())
