"""Each line of the table beside this file is named by its row: kind, subject and the line as its program prints it."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose

RULES = load_rules()
HEARD = ("packages/known-errors", "packages/asked-for", "packages/import-mismatch", "packages/changed-calls")
"""The table, and the histories of names, which may tell the same of a name that they know."""
ROWS = [
    tuple(part.strip() for part in line.split("|", 2))
    for line in (Path(__file__).parent / "known_errors.txt").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize(("kind", "subject", "line"), ROWS, ids=[str(number) for number, _ in enumerate(ROWS, 1)])
def test_a_line_alone_is_named_by_its_row(kind: str, subject: str, line: str) -> None:
    root = diagnose(read(line), no_target(), RULES).root_cause
    assert root is not None, "nothing explains it"
    assert root.rule in HEARD
    assert (root.kind, root.subject) == (kind, subject)
