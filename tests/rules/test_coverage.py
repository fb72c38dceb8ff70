"""Every row of `coverage.py` is covered: its rules exist and fire on their example, its files are there."""

from __future__ import annotations

import pytest

from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from tests.rules.coverage import CAPABILITIES, FAILURES, TRAINING
from tests.rules.examples import EXAMPLES
from tests.test_cases import FOLDER

RULES = {rule.name: rule for rule in load_rules()}
ROOT = FOLDER.parents[1]
ROWS = [
    (f"{table}: {what}", name)
    for table, rows in (("failure", FAILURES), ("peers", CAPABILITIES), ("trainers", TRAINING))
    for what, names in rows.items()
    for name in names
]


@pytest.mark.parametrize(("row", "name"), ROWS, ids=[f"{row} -> {name}" for row, name in ROWS])
def test_what_covers_it_is_there(row: str, name: str) -> None:
    if name.startswith(("envdoctor/", "trainer/")):
        assert (ROOT / name).exists()
    else:
        assert name in RULES
        assert name in EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_rule_fires_on_its_example(name: str) -> None:
    facts, target = EXAMPLES[name]
    diagnosis = diagnose(facts, target, [RULES[name]])
    assert not diagnosis.crashed
    assert [finding.rule for finding in diagnosis.findings][:1] == [name], diagnosis.skipped


def test_all_thirty_failure_modes_are_listed() -> None:
    assert [what[:3] for what in FAILURES] == [f"F{number:02}" for number in range(1, 31)]
