"""How a run is timed, as the doctor orders it and as the trainer reads it."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path

import pytest

from envdoctor.launch.trainer import Measure
from envdoctor.speed.ablation.against import AFTER_A_FIX
from envdoctor.speed.ablation.side_by_side import MEASURE
from trainer.errors import TrainerError
from trainer.measure.order import protocol_of
from trainer.measure.protocol import Protocol

ORDERED = [Measure(), MEASURE, AFTER_A_FIX.measure]


@pytest.mark.parametrize("measure", ORDERED, ids=["a verdict", "two arms", "after a fix"])
def test_the_trainer_takes_what_the_doctor_orders(measure: Measure) -> None:
    values = {item.name: getattr(measure, item.name) for item in fields(measure)}
    found = protocol_of({"measure": values}, Path("order.json"))
    assert found is not None
    assert asdict(found) == values


def test_left_to_themselves_both_mean_the_same() -> None:
    assert {item.name: getattr(Measure(), item.name) for item in fields(Measure())} == asdict(Protocol())


@pytest.mark.parametrize("value", [0, -1.0, True, "5"])
def test_other_numbers_are_refused_by_name(value: object) -> None:
    with pytest.raises(TrainerError, match=r"order\.json: measure\.windows"):
        protocol_of({"measure": {"windows": value}}, Path("order.json"))
