"""The modelled step against this kind of CPU, from the raw record: what holds is bounded, whatever one would wish."""

from __future__ import annotations

import json
import statistics
from dataclasses import replace

from tests.benchmarks.modelled import RECORD
from tests.benchmarks.modelled_cells import Cell, fit, from_json, log_errors, predicted, work_and_rates

BIAS, SPREAD = 0.05, 0.15


def cells() -> list[Cell]:
    return from_json(json.loads(RECORD.read_text("utf-8"))["cells"])


def test_sizes_tasks_and_formats_are_predicted_from_the_others() -> None:
    known = [work_and_rates(cell) for cell in cells()]
    assert len(known) >= 16
    errors = predicted(known)
    assert abs(statistics.fmean(errors)) < BIAS
    assert statistics.stdev(errors) < SPREAD


def test_attention_must_be_timed_by_itself() -> None:
    """Taken to run as fast as products, the same cells are farther off."""
    known = [work_and_rates(cell) for cell in cells()]
    lumped = [(work, replace(rates, attention=None), seconds) for work, rates, seconds in known]
    assert statistics.stdev(predicted(lumped)) > 1.05 * statistics.stdev(predicted(known))


def test_the_fit_is_better_than_none() -> None:
    known = [work_and_rates(cell) for cell in cells()]
    fitted, none = (sum(error**2 for error in log_errors(known, *pair)) for pair in (fit(known), (1.0, 1.0)))
    assert fitted < none
