"""The user's own baseline: runs are kept, disturbed ones are not, and a slow-down is called one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envdoctor.errors import Trouble
from envdoctor.speed.baselines import own_baseline
from envdoctor.speed.report import Device, Report, Window


def run(rate: float, spread: float = 0.002, windows: int = 20) -> Report:
    """A quiet run of a program: windows of 10 steps around ``rate`` steps per second."""
    shifts = [1 + spread * (-1) ** number * (number % 5) / 4 for number in range(windows)]
    return Report(
        schema=1,
        outcome="finished",
        device=Device(type="cuda", name="NVIDIA H100 80GB HBM3", capability="9.0"),
        windows=tuple(Window(steps=10, seconds=10 / (rate * shift)) for shift in shifts),
        steps=10 * windows,
    )


def kept_runs(*rates: float) -> tuple[Report, ...]:
    return tuple(run(rate) for rate in rates)


def test_runs_are_kept_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "state" / "mine.json"
    own_baseline.append(path, (), run(5.0))
    own_baseline.append(path, own_baseline.read(path), run(5.1))
    assert [round(report.rates[0], 3) for report in own_baseline.read(path)] == [5.0, 5.1]


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    for number in range(own_baseline.KEPT + 3):
        own_baseline.append(path, own_baseline.read(path), run(1.0 + number))
    assert len(own_baseline.read(path)) == own_baseline.KEPT
    assert own_baseline.read(path)[0].rates[0] == pytest.approx(4.0)


def test_too_few_runs_give_no_verdict() -> None:
    verdict = own_baseline.judge_by_own_runs(run(5.0), kept_runs(5.0, 5.01), "mine")
    assert verdict.word == "not-comparable"
    assert "3 are needed" in verdict.reasons[0]


@pytest.mark.parametrize(("rate", "word"), [(5.0, "as-expected"), (4.0, "slower"), (6.0, "faster")])
def test_later_runs_are_judged_by_earlier_ones(rate: float, word: str) -> None:
    verdict = own_baseline.judge_by_own_runs(run(rate), kept_runs(5.0, 5.01, 4.99, 5.0, 5.02), "mine")
    assert verdict.word == word, verdict.reasons


def test_unfit_runs_are_named() -> None:
    assert own_baseline.why_not_kept(run(5.0)) is None
    assert own_baseline.why_not_kept(replace(run(5.0), outcome="interrupted"))
    assert own_baseline.why_not_kept(replace(run(5.0), windows=()))
    assert own_baseline.why_not_kept(run(5.0, windows=2))


@pytest.mark.parametrize("name", ["../evil", "a b", "", ".hidden", "x" * 200])
def test_names_stay_in_the_folder(name: str) -> None:
    with pytest.raises(Trouble):
        own_baseline.path_of(name)


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 2, "runs": []}', '{"schema": 1, "runs": [3]}'])
def test_a_broken_file_is_one_clear_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.json"
    path.write_text(text)
    with pytest.raises(Trouble):
        own_baseline.read(path)
