"""The machine's pace, taken off window by window: neighbours are excused, slower settings are not."""

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.errors import Trouble
from envdoctor.locks.target import Baseline, load
from envdoctor.speed.baselines.baseline_file import as_toml
from envdoctor.speed.baselines.recording import record
from envdoctor.speed.evidence.pace_model import PRESUMED, PRESUMED_ERROR, STEEPEST, at_one_pace, pace_model
from envdoctor.speed.report import Device, Report, Window, parse
from envdoctor.speed.verdict import judge
from tests.speed.making import CPU, cpu_report, target

SLOPE = 1.1  # log change of a step's speed for one of the pace
PARTS = {"forward": 0.35, "backward": 0.6, "optimizer": 0.05}


def shared(
    seed: int, *, slower: float = 0.0, pace: float = 1.0, wander: float = 0.1, slope: float = SLOPE, **changes: object
) -> Report:
    """A run on a machine whose pace wanders: slowly, as neighbours come and go, and by its own from run to run."""
    rng = random.Random(seed)
    level, found = rng.gauss(0.0, wander), []
    for _ in range(20):
        level = 0.9 * level + 0.45 * rng.gauss(0.0, wander)
        rate = 4.0 * (1.0 - slower) * math.exp(slope * (level + math.log(pace)) + rng.gauss(0.0, 0.01))
        parts = {part: share / rate for part, share in PARTS.items()}
        found.append(Window(steps=1, seconds=1.0 / rate, breakdown=parts, pace=700.0 * pace * math.exp(level)))
    return replace(cpu_report(), windows=tuple(found), **changes)  # type: ignore[arg-type]


def recorded(processes: int = 8, **more: float) -> Baseline:
    runs = [shared(seed, **more) for seed in range(processes)]
    return record(runs, target(), "cu130", noisy=True)


BASE = recorded()


def test_every_window_of_the_baseline_keeps_its_pace() -> None:
    assert [len(row) for row in BASE.paces] == [len(row) for row in BASE.windows] == [20] * 8
    part = replace(shared(0), windows=(*shared(0).windows[:-1], replace(shared(0).windows[-1], pace=None)))
    assert record([part, shared(1), shared(2)], target(), "cu130", noisy=True).paces == ()


def test_how_a_step_follows_the_pace_is_learned_from_the_baseline() -> None:
    found = at_one_pace([shared(100, pace=0.9)], BASE)
    assert found is not None
    assert found.log_effect / found.pace == pytest.approx(SLOPE, abs=0.1)
    raw = [sum(row) / len(row) for row in BASE.windows]
    assert (
        max(run.rate for run in found.recorded) / min(run.rate for run in found.recorded) < 1.03 < max(raw) / min(raw)
    )


def test_neighbours_are_taken_off_and_the_rest_is_judged() -> None:
    for seed in range(50, 60):
        same = judge([shared(seed + 10 * n, pace=0.95) for n in range(3)], BASE)
        assert same.word == "as-expected", same.reasons
        assert same.comparison is not None
        assert same.comparison.detectable < 0.15
        slower = judge([shared(seed + 10 * n, slower=0.2) for n in range(3)], BASE)
        assert slower.word == "slower", slower.reasons


def test_the_reader_is_told_what_was_taken_off() -> None:
    found = judge([shared(70 + n, pace=0.9, wander=0.01) for n in range(3)], BASE)
    assert any("x the pace of the baseline's: taken off" in reason for reason in found.reasons), found.reasons


def test_a_machine_at_half_its_pace_is_asked_again() -> None:
    found = judge([shared(80, pace=0.5)], BASE)
    assert (found.word, found.cause, found.more_processes) == ("unstable", "contention", 2)
    assert any("x its usual pace throughout" in reason for reason in found.reasons)
    found = judge([shared(80 + n, pace=0.5) for n in range(3)], BASE)
    assert (found.word, found.more_processes) == ("unstable", 0)


def test_windows_and_processes_far_below_the_usual_pace_are_set_aside() -> None:
    quiet, halved = shared(85, wander=0.01), shared(86, pace=0.5, wander=0.01)
    mixed = replace(quiet, windows=(*quiet.windows[:10], *halved.windows[:10]))
    found = at_one_pace([mixed, halved, quiet], BASE)
    assert found is not None
    assert [run.windows for run in found.processes] == [10, 20]
    assert found.aside == 1
    told = judge([mixed, halved, quiet], BASE)
    assert told.word == "as-expected", told.reasons
    assert any("set aside: 1 of 3 processes" in reason for reason in told.reasons)


def test_a_baseline_that_was_mostly_halved_tells_no_pace() -> None:
    halves = [shared(seed, pace=0.5 if seed % 3 else 1.0, wander=0.01) for seed in range(6)]
    base = record(halves, target(), "cu130", noisy=True)
    assert pace_model(base) is None
    assert judge([shared(1), shared(2)], base).comparison is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"device": Device(type="cpu", name=CPU, cpu_model=CPU, threads=1, cores=2)},
        {"versions": {**cpu_report().versions, "torch": "2.4.0+cpu"}},
        {"settings": {"precision": "bfloat16", "attention": "documents"}},
    ],
    ids=["threads", "torch", "precision"],
)
def test_what_would_slow_the_fixed_work_too_is_not_excused(changes: dict[str, object]) -> None:
    found = judge([shared(seed, pace=0.8, wander=0.01, **changes) for seed in range(3)], BASE)
    assert found.comparison is None or found.comparison.ratio == pytest.approx(0.8**SLOPE, rel=0.1)
    assert found.word != "as-expected"


def test_without_a_pace_nothing_is_taken_off() -> None:
    without = replace(shared(90), windows=tuple(replace(window, pace=None) for window in shared(90).windows))
    assert at_one_pace([without], BASE) is None
    assert at_one_pace([shared(90)], replace(BASE, paces=())) is None
    assert at_one_pace([], BASE) is None


def test_the_baseline_outweighs_what_is_presumed_where_its_pace_varied() -> None:
    unmoved, steady = pace_model(recorded(12, slope=0.0)), pace_model(recorded(12, wander=0.0))
    assert unmoved is not None
    assert unmoved.slope == pytest.approx(0.0, abs=0.1)
    assert steady is not None
    assert steady.slope == pytest.approx(PRESUMED, abs=0.1)
    assert steady.error == pytest.approx(PRESUMED_ERROR, rel=0.1)
    assert unmoved.error < 0.5 * steady.error


@given(slope=st.floats(0.0, 3.0), pace=st.floats(0.3, 3.0), unit=st.floats(0.01, 100.0))
def test_no_more_than_the_steepest_is_taken_off_in_any_unit(slope: float, pace: float, unit: float) -> None:
    base = recorded(slope=slope)
    found = at_one_pace([shared(92, pace=pace, slope=slope)], base)
    assert found is not None
    assert 0.0 <= found.log_effect * math.copysign(1.0, found.pace) <= STEEPEST * abs(found.pace) + 1e-12
    other = replace(base, paces=tuple(tuple(unit * value for value in row) for row in base.paces))
    run = shared(92, pace=pace * unit, slope=0.0)
    rates = shared(92, pace=pace, slope=slope).windows
    run = replace(
        run, windows=tuple(replace(w, steps=1, seconds=r.seconds) for w, r in zip(run.windows, rates, strict=True))
    )
    again = at_one_pace([run], other)
    assert again is not None
    assert again.log_effect == pytest.approx(found.log_effect, rel=1e-6, abs=1e-9)


def test_paces_survive_the_file(tmp_path: Path) -> None:
    path = tmp_path / "here.toml"
    path.write_text('schema = 1\ntitle = "here"\nstacks = ["cu130"]\n\n' + as_toml(BASE), "utf-8")
    assert load(path).baselines[0].paces == BASE.paces


def test_a_pace_that_cannot_be_is_refused() -> None:
    window = {"steps": 1, "seconds": 1.0, "pace": -1.0}
    with pytest.raises(Trouble, match="positive speed") as caught:
        parse({"schema": 1, "outcome": "finished", "windows": [window]})
    assert "windows[0].pace" in str(caught.value)
