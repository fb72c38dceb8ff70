"""Arguments that came or went between releases, read from the wheels."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.knowledge.names import ARGUMENTS, NAMES
from envdoctor.knowledge.versions import release
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose

RULES = load_rules()


def test_each_row_is_whole_and_each_argument_changes_once() -> None:
    seen: set[tuple[str, str, str]] = set()
    for row in set(ARGUMENTS):
        assert release(row.release)
        assert row.names
        for name in row.names:
            assert name.isidentifier()
            assert (row.package, row.owner, name) not in seen
            seen.add((row.package, row.owner, name))


def test_what_is_told_by_hand_is_not_contradicted() -> None:
    by_hand = {(row.package, row.name, row.argument, row.direction) for row in NAMES if row.argument}
    other = {"removed": "added", "added": "removed"}
    for row in set(ARGUMENTS):
        for name in row.names:
            both = (row.package, row.owner, name, row.direction) in by_hand
            assert both or (row.package, row.owner, name, other[row.direction]) not in by_hand


@pytest.mark.parametrize(
    ("line", "package", "use"),
    [
        ("TypeError: SFTConfig.__init__() got an unexpected keyword argument 'num_of_sequences'", "trl", "trl<0.18.0"),
        (
            "TypeError: SFTConfig.__init__() got an unexpected keyword argument 'assistant_only_loss'",
            "trl",
            "trl>=0.19.0",
        ),
    ],
)
def test_an_argument_is_told_by_the_release_that_changed_it(line: str, package: str, use: str) -> None:
    root = diagnose(read(line), no_target(), RULES).root_cause
    assert root is not None
    assert (root.rule, root.subject) == ("packages/known-symptoms", package)
    assert use in root.expected
    assert any(use in command for command in root.remedy.commands)
