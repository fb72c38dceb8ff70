"""The measuring series itself: what it records is what was judged, and its tables count right."""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from envdoctor.locks.target import Target
from envdoctor.speed.baselines.recording import record
from envdoctor.speed.report import Warmup
from envdoctor.speed.verdict import judge
from envdoctor.system import process
from tests.speed.making import cpu_report, windows
from tests.speed.series import recording
from tests.speed.series.__main__ import conditions
from tests.speed.series.conditions import NEIGHBOURS, injected, neighbour, slowed, under
from tests.speed.series.recording import Run, Series
from tests.speed.series.replay import pools, resampled, table
from tests.speed.series.table import of_runs, upper_bound

CPU = Target(name="cpu", title="CPU")


def series(slow: float = 0.7) -> Series:
    """Twelve quiet processes of one machine, four beside a neighbour that pressure shows."""
    rng = random.Random(7)
    quiet = [
        cpu_report(
            settings={"precision": "float32", "output": f"/runs/{number}"},
            windows=windows(3.0 * (1.0 + rng.gauss(0.0, 0.004)), 14, 0.004, steps=2),
            warmup=Warmup(steps=9, seconds=1.5, steady=True, reason="flat"),
        )
        for number in range(12)
    ]
    busy = [
        cpu_report(3.0 * slow, contention={"before": 1.0, "during": 0.4, "load": [3.0, 2.0, 1.0]}) for _ in range(4)
    ]

    def run(condition: str, report: object) -> Run:
        done = (report,)
        verdict = judge(done, record(quiet[:6], CPU, "cpu"))  # type: ignore[arg-type]
        return Run(
            condition=condition, true=0.0, word=verdict.word, cause=verdict.cause, seconds=9.0, reports=verdict.reports,
            ratio=verdict.comparison.ratio if verdict.comparison else None,
            detectable=verdict.comparison.detectable if verdict.comparison else None, reasons=verdict.reasons,
        )  # fmt: skip

    runs = [*(run("quiet", r) for r in quiet[6:]), *(run("disturbed: bursts", r) for r in busy)]
    return Series(made="2026-11-21", command="series", noisy=False, baseline=tuple(quiet[:6]), runs=tuple(runs))


def test_what_is_recorded_is_judged_alike_again(tmp_path: Path) -> None:
    before = series()
    path = tmp_path / "recorded" / "aa.json"
    recording.write(before, path)
    after = recording.read(path)
    assert [run.word for run in after.runs] == [run.word for run in before.runs]
    base = record(after.baseline, CPU, "cpu")
    for run in after.runs:
        assert judge(run.reports, base).word == run.word
    assert path.stat().st_size / (len(before.runs) + 6) < 2000  # 130 processes stay far below 1 MB
    assert "/runs/" not in path.read_text()


def test_the_table_counts_each_condition_and_all_disturbed_ones() -> None:
    lines = of_runs(series().runs)
    quiet = next(line for line in lines if line.startswith("quiet"))
    assert quiet.split()[:4] == ["quiet", "6", "6", "(100.0%)"]
    assert any(line.startswith("all disturbed") and "4 (100.0%)" in line for line in lines)


@pytest.mark.parametrize(("errors", "runs", "bound"), [(0, 80, 0.0368), (0, 2000, 0.0015), (1, 80, 0.058), (4, 4, 1.0)])
def test_the_upper_bound_is_clopper_and_pearsons(errors: int, runs: int, bound: float) -> None:
    assert upper_bound(errors, runs) == pytest.approx(bound, abs=5e-4)


def test_a_replay_finds_what_was_put_in_and_blames_no_neighbour() -> None:
    lines = table(series(), 40)
    by_name = {line[:26].strip(): line for line in lines[2:]}
    assert "40 (100.0%)" in by_name["quiet, 0% slower"]
    assert " 0 (0.0%)" in by_name["disturbed, 0% slower"] or "40 (100.0%)" in by_name["disturbed, 0% slower"]
    words = lines[1].split()[2:]
    cells = by_name["quiet, 15% slower"].replace(" (", "(").split()
    assert cells[4 + words.index("slower")].startswith("40")
    few = replace(series(), baseline=(), runs=())
    assert table(few, 1) == ["only 0 quiet processes are recorded; a replay needs six"]


def test_resampled_windows_are_the_processs_own_in_blocks() -> None:
    quiet, _ = pools(series())
    again = resampled(quiet[0], random.Random(1), slowdown=0.1)
    assert len(again.windows) == 14
    assert {round(w.seconds / 1.1, 9) for w in again.windows} <= {round(w.seconds, 9) for w in quiet[0].windows}


def test_the_conditions_take_turns() -> None:
    given = argparse.Namespace(inject="", disturb="half", runs=80)
    names = [condition.name for condition in conditions(given)]
    assert names.count("quiet") == 40
    assert {name.removeprefix("disturbed: ") for name in names} - {"quiet"} == set(NEIGHBOURS)
    given = argparse.Namespace(inject="3,one-thread", disturb="none", runs=6)
    assert [c.name for c in conditions(given)] == ["quiet", "injected: 3 %", "injected: one thread"] * 2
    assert injected("8").true == pytest.approx(0.08)


def test_a_neighbour_works_while_the_body_runs_and_is_ended_after_it() -> None:
    others = {p for p in Path("/proc").glob("[0-9]*") if _is_hog(p)}
    with under(neighbour(3)):
        time.sleep(0.3)
        children = [p for p in Path("/proc").glob("[0-9]*") if p not in others and _is_hog(p)]
        assert len(children) >= 2
    assert not any(_is_hog(child) for child in children)


def _is_hog(path: Path) -> bool:
    try:
        return b"sum(range(20000))" in (path / "cmdline").read_bytes()
    except OSError:
        return False


def test_the_injected_sleep_is_the_asked_share_of_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The very file, in a Python of its own, around a stand-in for the trainer whose step takes 20 ms asleep."""
    monkeypatch.setenv("PYTHONPATH", "")  # put back after it
    package = tmp_path / "trainer"
    for part in (package, package / "compute", package / "data"):
        part.mkdir()
        (part / "__init__.py").write_text("")
    step = "import time\nclass Stepper:\n    def step(self, rate):\n        time.sleep(0.02)\n"
    (package / "compute" / "optimizer.py").write_text(step)
    (package / "data" / "feed.py").write_text("def steps(count):\n    yield from range(count)\n")
    program = (
        "import time\nfrom trainer.compute.optimizer import Stepper\nfrom trainer.data import feed\n"
        "s = Stepper()\nspent = []\n"
        "for _ in feed.steps(12):\n    a = time.perf_counter()\n    s.step(0.1)\n"
        "    spent.append(time.perf_counter() - a)\n"
        "print(sorted(spent)[6])\n"
    )

    def typical(share: float) -> float:
        variables = {**slowed(step=share), "PATH": "/usr/bin"}
        variables["PYTHONPATH"] = os.pathsep.join((os.environ["PYTHONPATH"], str(tmp_path)))
        outcome = process.run([sys.executable, "-c", program], deadline=60, env=variables, cwd=tmp_path)
        assert outcome.ok, outcome.err
        return float(outcome.out)

    # A half more: far beyond what sleeping too long by a tick can make of it.
    assert typical(0.5) > 0.028
