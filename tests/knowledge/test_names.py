"""Names that came and went: every row can be judged, and who has to move follows from it."""

from __future__ import annotations

import pytest

from envdoctor.knowledge import names, versions
from envdoctor.knowledge.names import NAMES, Name
from envdoctor.knowledge.requirements import read
from envdoctor.knowledge.table import bundled_table

ROWS = [bundled_table("names").parse(block, Name) for block in bundled_table("names").blocks]


def test_every_row_can_be_judged() -> None:
    assert len(ROWS) > 450
    assert len(NAMES.names()) > 300
    for row in ROWS:
        assert versions.parse(row.release) is not None, row
        assert row.source, row
        assert not row.pin or read(row.pin) is not None, row
        for line in (*row.needed_by, *row.cured_in):
            wanted = read(line)
            assert wanted is not None, row
            assert versions.specifiers(wanted.specifier) is not None, row
        if row.direction == "removed" and row.pin:
            wanted = read(row.pin)
            assert wanted is not None, row
            assert wanted.name == row.package, row


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.direction == "removed" and row.pin], ids=lambda r: r.source[:40]
)
def test_the_pin_still_has_the_name(row: Name) -> None:
    wanted = read(row.pin)
    assert wanted is not None
    assert versions.within(row.release, wanted.specifier) is False


@pytest.mark.parametrize(
    ("version", "direction", "absent"),
    [("4.57.6", "removed", False), ("5.0.0", "removed", True), ("4.57.6", "added", True), ("5.1", "added", False)],
)
def test_a_name_is_absent_on_one_side(version: str, direction: str, absent: bool) -> None:
    row = Name(module="m", name="n", package="p", direction=direction, release="5.0.0", source="s")  # type: ignore[arg-type]
    assert row.fits(version) is absent
    assert row.fits(None)


def test_who_asks_and_what_cures_it() -> None:
    row = next(names.of_name("transformers", "HybridCache"))
    assert (row.package, row.direction, row.release) == ("transformers", "removed", "5.0.0")
    caller = row.caller({"peft": "0.17.1"}, None)
    assert caller is not None
    assert caller.name == "peft"
    assert row.cure("peft") == "peft>=0.18.0"
    assert row.caller({"peft": "0.18.0"}, None) is None
    assert row.caller({}, "peft") is not None


def test_rows_of_the_very_module_come_first() -> None:
    found = list(names.of_name("transformers.cache_utils", "HybridCache"))
    assert found[0].module == "transformers.cache_utils"


def test_modules_arguments_and_overrides() -> None:
    assert next(names.of_module("torchvision.transforms.functional_tensor")).package == "torchvision"
    assert next(names.of_argument("TrainingArguments.__init__", "evaluation_strategy")).package == "transformers"
    passed = names.overridden_method("MyTrainer.compute_loss", "num_items_in_batch")
    assert passed is not None
    assert passed.direction == "added"
    assert names.overridden_method("MyTrainer.compute_loss", "nothing") is None


def test_a_module_s_distribution() -> None:
    assert names.distribution_of("cv2") == "opencv-python-headless"
    assert names.distribution_of("hydra.core") == "hydra-core"
    assert names.distribution_of("torch") is None


def test_what_a_module_dropped_is_told_for_that_module_alone() -> None:
    row = next(names.of_name("transformers.generation", "DisjunctiveConstraint"))
    assert (row.direction, row.release, row.pin) == ("removed", "5.0.0", "transformers<5.0.0")
    assert not list(names.of_name("transformers.elsewhere", "DisjunctiveConstraint"))


def test_every_dropped_row_can_be_judged() -> None:
    rows = list(names.DROPPED)
    assert sum(len(row.names) for row in rows) > 1000
    for row in rows:
        assert versions.parse(row.release) is not None, row
        assert row.module.partition(".")[0] == row.package, row
        assert len(set(row.names)) == len(row.names), row
