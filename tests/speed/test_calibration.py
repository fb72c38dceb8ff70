"""The modelled step against published speeds: what it is calibrated on, and rows that were left out of that."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from envdoctor.knowledge import gpus
from envdoctor.locks.target import Baseline
from envdoctor.speed.baselines.derive import derive
from envdoctor.speed.modelled import EFFICIENCIES
from tests.speed.calibration import CalibrationRow, calibrate, rms, row_of, split
from tests.speed.published import published_speeds

ROWS = [row_of(one) for one in published_speeds()]
WORST_IN, WORST_OUT = 0.11, 0.14
DERIVED, MODELLED = 0.13, 0.13
"""Log-rms that the model keeps: of rows it is calibrated on, and of rows that were left out."""


def errors(rows: list[CalibrationRow]) -> list[float]:
    return [row.log_error(EFFICIENCIES[row.generation]) for row in rows]


def test_there_are_enough_rows_with_conditions_and_sources() -> None:
    assert len(ROWS) >= 20
    assert all(row.published.source and row.published.software for row in ROWS)
    assert {"Ampere", "Ada", "Hopper", "Blackwell"} == {row.generation for row in ROWS}


def test_the_model_predicts_rows_that_were_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    """The bound is what holds, not what one would wish for."""
    known, left_out = split(ROWS)
    assert len(left_out) >= len(ROWS) // 3
    inside, outside = rms(errors(known)), rms(errors(left_out))
    with capsys.disabled():
        print(f"\nlog-rms of {len(known)} rows calibrated on {inside:.3f}, of {len(left_out)} left out {outside:.3f}")
        for generation in sorted(EFFICIENCIES):
            theirs = [rms(errors([r for r in part if r.generation == generation])) for part in (known, left_out)]
            print(f"  {generation:10} {theirs[0]:.3f} {theirs[1]:.3f}")
    assert inside < WORST_IN
    assert outside < WORST_OUT


def test_what_the_module_says_is_what_the_calibration_finds() -> None:
    for generation, found in calibrate(split(ROWS)[0]).items():
        told = EFFICIENCIES[generation]
        assert math.isclose(told.products, found.products, rel_tol=0.02), generation
        assert math.isclose(told.memory, found.memory, rel_tol=0.02), generation


def test_the_stated_doubt_covers_every_row_at_two_standard_deviations() -> None:
    for row in ROWS:
        told = EFFICIENCIES[row.generation]
        assert abs(row.log_error(told)) < 2.0 * told.log_sd, (row.published.gpu, row.published.model)


def test_doubled_work_or_a_halved_efficiency_would_break_the_bound() -> None:
    spoilt = [row.log_error(replace(EFFICIENCIES[row.generation], products=0.4)) for row in split(ROWS)[1]]
    assert rms(spoilt) > 2 * WORST_OUT


def pairs() -> list[tuple[CalibrationRow, CalibrationRow]]:
    """The same training on two chips, slower one first."""
    return [
        (one, other)
        for one in ROWS
        for other in ROWS
        if training(one) == training(other) and one.published.gpu != other.published.gpu and speed(one) < speed(other)
    ]


def training(row: CalibrationRow) -> tuple[object, ...]:
    one = row.published
    return one.model, one.length, one.precision, one.recomputed, one.style


def speed(row: CalibrationRow) -> float:
    return row.published.speed


def as_baseline(row: CalibrationRow) -> Baseline:
    return Baseline(
        workload="published",
        stack="cu130",
        evidence="measured",
        gpu=row.published.gpu,
        windows=((speed(row),),),
        conditions={"precision": row.work.precision},
    )


def test_one_chip_from_another_by_derivation_and_by_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    """What is derived from a measured chip must be at least as near as its stated doubt says."""
    found = pairs()
    assert len(found) >= 8
    derived, modelled = [], []
    for one, other in found:
        chip = gpus.board(other.published.gpu)
        assert chip is not None
        baseline = derive(chip, [as_baseline(one)], "published", "cu130")
        assert baseline is not None
        real = speed(other) / speed(one)
        derived.append(math.log(baseline.windows[0][0] / speed(one) / real))
        expected = [
            math.exp(row.log_error(EFFICIENCIES[row.generation])) * row.published.seconds for row in (one, other)
        ]
        per_token = (expected[0] / one.published.tokens) / (expected[1] / other.published.tokens)
        modelled.append(math.log(per_token / real))
        assert abs(derived[-1]) < 2.0 * float(baseline.conditions["spread"])
    with capsys.disabled():
        print(f"\nlog-rms over {len(found)} pairs of chips: derived {rms(derived):.3f}, modelled {rms(modelled):.3f}")
    assert rms(derived) < DERIVED
    assert rms(modelled) < MODELLED
