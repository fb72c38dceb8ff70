"""The tests that DEFECTS.md names are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NAMED = re.findall(r"`([\w/]+\.py)::(\w+)`", (HERE / "DEFECTS.md").read_text("utf-8"))


def test_every_row_names_one() -> None:
    _, *rows = [line for line in (HERE / "DEFECTS.md").read_text("utf-8").splitlines() if line.startswith("| ")]
    assert len(rows) >= 27
    assert [row for row in rows if not re.search(r"`[\w/]+\.py::\w+`", row)] == []


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_a_named_test_is_there(path: str, name: str) -> None:
    assert f"def {name}(" in (HERE.parent / path).read_text("utf-8")
