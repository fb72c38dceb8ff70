"""The page of the first minute says what the program says."""

from __future__ import annotations

import ast
import tempfile
from pathlib import Path

import pytest

from tests.minute.frictions import FRICTIONS
from tests.minute.page import BOXES, PAGE, comparable, friction_text, frictions, sections
from tests.minute.place import ROOT, Place


def test_every_friction_and_every_box_is_on_the_page() -> None:
    text = PAGE.read_text("utf-8")
    found = sections(text)
    assert list(found) == list(range(1, len(FRICTIONS) + 1)) == list(range(1, 21))
    for number, one in enumerate(FRICTIONS, 1):
        assert one.title in found[number]
        assert one.was in found[number]
        assert f"now (exit code {one.code})" in found[number]
    assert all(title in text for title in BOXES.values())
    assert "FAILED" not in text


def test_what_holds_a_friction_is_there() -> None:
    for one in FRICTIONS:
        for place in one.held:
            path, _, name = place.partition("::")
            functions = [node.name for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8")))
                         if isinstance(node, ast.FunctionDef)]  # fmt: skip
            assert name in functions, place


@pytest.mark.slow
@pytest.mark.torch
def test_what_was_typed_is_answered_as_the_page_says() -> None:
    page = sections(PAGE.read_text("utf-8"))
    wrong = []
    # Not pytest's own folder: lines are wrapped where the path in them ends, and that one is long.
    with tempfile.TemporaryDirectory() as folder:
        for number, one, said in frictions(Place(Path(folder))):
            now = friction_text(number, one, said)
            if comparable(now) != comparable(page[number]):
                wrong.append(now)
    assert not wrong, "\n".join(wrong)
