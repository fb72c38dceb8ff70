"""Image files of the shapes people publish: exactly what was written down beside each is found, on its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor import doctor
from envdoctor.facts.model import Facts
from envdoctor.render.sarif import place
from envdoctor.rules.checkup import CheckOptions, Checkup
from envdoctor.values.document import read_toml

FOLDER = Path(__file__).parent / "published"
CASES = sorted(FOLDER.glob("*.toml"))
NOWHERE = Facts()


def checkup(case: Path) -> Checkup:
    """The case judged, on no machine but the one that it names."""
    said = read_toml(case)
    options = CheckOptions(
        target=said.get("target", "none"), images=(FOLDER / said["file"],), driver=said.get("driver")
    )
    return doctor.examine_images(options, NOWHERE)


def found(case: Path) -> list[tuple[int, str, str]]:
    """Line, rule and severity of each finding, in the file's order."""
    diagnosis = checkup(case).diagnosis
    assert not diagnosis.crashed, diagnosis.crashed
    rows = {(place(f)[1] or 0, f.rule, f.severity.word if f.severity else "") for f in diagnosis.findings}
    return sorted(rows)


def expected(case: Path) -> list[tuple[int, str, str]]:
    rows = read_toml(case)["expected"]
    return sorted((line, rule, severity) for line, rule, severity in rows)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_what_was_written_down_is_found_and_nothing_else(case: Path) -> None:
    assert found(case) == expected(case)


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 40
