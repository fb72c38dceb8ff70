"""The efficiencies of `modelled`, found again from published speeds, and how far they are off on rows left out.

Every third row of the table, in its order, is left out of the calibration and predicted. What a whole generation
reaches is fitted to all its rows together; two efficiencies, by least squares of the logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from envdoctor.knowledge import gpus
from envdoctor.knowledge.work import Work
from envdoctor.speed.dense import Decoder, Style, step_work
from envdoctor.speed.modelled import ATTENTION, EFFICIENCIES, Efficiency, Rates, expected_step, rates_of_chip
from tests.speed.published import PublishedSpeed, shape_of

USUAL_POWER = 1.0 / 3.0
"""Clocks follow power with about this exponent near a card's limit: power grows with clock x voltage squared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationRow:
    """A published speed as the model sees it; ``log_error``: of the expected seconds over the published ones."""

    published: PublishedSpeed
    generation: str
    work: Work
    rates: Rates

    def log_error(self, efficiency: Efficiency) -> float:
        efficiency = replace(efficiency, attention=ATTENTION[self.published.attention][self.generation])
        expected = expected_step(self.work, replace(self.rates, efficiency=efficiency))
        return math.log(expected.seconds / self.published.seconds)


def row_of(one: PublishedSpeed) -> CalibrationRow:
    """Raises ValueError for a GPU without figures."""
    chip = gpus.board(one.gpu)
    if chip is None:
        raise ValueError(f"{one.gpu!r} has no figures")
    rates = rates_of_chip(chip)
    if one.power and chip.power:
        slower = (one.power / chip.power) ** USUAL_POWER
        rates = replace(rates, products={form: flops * slower for form, flops in rates.products.items()})
    if one.bandwidth:
        rates = replace(rates, bandwidth=one.bandwidth * 1e9)
    work = step_work(
        Decoder(**cast(Any, shape_of(one.model))),
        tokens=one.tokens,
        squares=one.tokens * one.length,
        precision=one.precision,
        style=cast(Style, one.style),
        recomputed=one.recomputed,
        shards=min(one.gpus, 8),
    )
    work = replace(work, launches=work.launches * one.accumulate)  # every micro-batch launches its own kernels
    return CalibrationRow(published=one, generation=chip.generation, work=work, rates=rates)


def split(rows: Sequence[CalibrationRow]) -> tuple[list[CalibrationRow], list[CalibrationRow]]:
    """Calibrated on, and left out: every third row."""
    return [row for n, row in enumerate(rows) if n % 3 != 2], [row for n, row in enumerate(rows) if n % 3 == 2]


def fit_generation(rows: Sequence[CalibrationRow], start: Efficiency) -> Efficiency:
    """Products and memory of one generation: the best of a grid that narrows; attention stays at ``start``'s."""
    best, width = start, 0.6
    for _ in range(7):
        steps = [math.exp(width * number / 4) for number in range(-4, 5)]
        candidates = [replace(best, products=best.products * a, memory=best.memory * b) for a in steps for b in steps]
        within = [one for one in candidates if one.products <= MOST and LEAST_MEMORY <= one.memory <= MOST]
        best = min(within or [best], key=lambda one: rms(row.log_error(one) for row in rows))
        width /= 2.0
    return best


MOST, LEAST_MEMORY = 1.0, 0.75
"""Nothing reaches more than the units and the memory give, and kernels that stream through memory reach three quarters
of it at least (a plain copy: 0.85 to 0.94). Without that bound whatever these trainings lose elsewhere, above all to
the exchange between their GPUs, would be put down to memory; with it the rows left out are 0.131 off instead of 0.125.
"""


def calibrate(rows: Sequence[CalibrationRow]) -> dict[str, Efficiency]:
    """Of each generation that has at least three rows; the others keep what `modelled` says."""
    found = dict(EFFICIENCIES)
    for generation in sorted({row.generation for row in rows}):
        same = [row for row in rows if row.generation == generation]
        if len(same) >= 3:
            found[generation] = fit_generation(same, EFFICIENCIES[generation])
    return found


def rms(errors: Iterable[float]) -> float:
    """Root of the mean square; 0 for none."""
    squares = [error * error for error in errors]
    return math.sqrt(math.fsum(squares) / len(squares)) if squares else 0.0
