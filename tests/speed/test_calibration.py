"""The modelled step against published speeds: what it is calibrated on, and rows that were left out of that."""

from __future__ import annotations

import math

import pytest

from envdoctor.knowledge.published import published_speeds
from envdoctor.speed.calibration import Row, calibrated, rms, row_of, split
from envdoctor.speed.modelled import EFFICIENCIES

ROWS = [row_of(one) for one in published_speeds()]
WORST_IN, WORST_OUT = 0.11, 0.14
"""Log-rms that the model keeps: of rows it is calibrated on, and of rows that were left out."""


def errors(rows: list[Row]) -> list[float]:
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
    for generation, found in calibrated(split(ROWS)[0]).items():
        told = EFFICIENCIES[generation]
        assert math.isclose(told.products, found.products, rel_tol=0.02), generation
        assert math.isclose(told.memory, found.memory, rel_tol=0.02), generation


def test_the_stated_doubt_covers_every_row_at_two_standard_deviations() -> None:
    for row in ROWS:
        told = EFFICIENCIES[row.generation]
        assert abs(row.log_error(told)) < 2.0 * told.log_sd, (row.published.gpu, row.published.model)


def test_doubled_work_or_a_halved_efficiency_would_break_the_bound() -> None:
    from dataclasses import replace

    spoilt = [row.log_error(replace(EFFICIENCIES[row.generation], products=0.4)) for row in split(ROWS)[1]]
    assert rms(spoilt) > 2 * WORST_OUT
