"""Arguments that came or went between releases, read from the wheels."""

from __future__ import annotations

import re

import pytest

from envdoctor.facts.pasted import read
from envdoctor.knowledge import history
from envdoctor.knowledge.names import ARGUMENTS, METHODS, NAMES, of_call
from envdoctor.knowledge.versions import release
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose

RULES = load_rules()


BOTH = [*set(ARGUMENTS), *set(METHODS)]
_EVERYDAY = frozenset(
    "__call__ call collate_fn compute_loss evaluate fit forward generate get load load_model main predict run save "
    "set_seed step test train training_step update".split()
)


def test_each_row_is_whole_and_each_argument_changes_once() -> None:
    seen: set[tuple[str, str, str]] = set()
    for row in BOTH:
        assert release(row.release)
        assert row.names
        for name in row.names:
            assert name.isidentifier()
            assert (row.package, row.owner, name) not in seen
            seen.add((row.package, row.owner, name))


def test_what_is_told_by_hand_is_not_contradicted() -> None:
    by_hand = {(row.package, row.name, row.argument, row.direction) for row in NAMES if row.argument}
    other = {"removed": "added", "added": "removed"}
    for row in BOTH:
        for name in row.names:
            both = (row.package, row.owner, name, row.direction) in by_hand
            assert both or (row.package, row.owner, name, other[row.direction]) not in by_hand


def test_a_method_names_its_class_or_is_none_that_others_have() -> None:
    for row in set(METHODS):
        assert re.fullmatch(r"(?:[A-Z]\w*\.)?[a-z_]\w*", row.owner), row
        assert row.owner not in _EVERYDAY, row
        assert "." in row.owner or "_" in row.owner, row


def test_what_the_sources_tell_of_a_method_is_not_told_again() -> None:
    for row in set(METHODS):
        for name in row.names:
            assert row.package not in {span.package for span in history.of_argument(row.owner, name)}, row
            assert [told.release for told in of_call(row.owner, name) if told.package == row.package] == [row.release]


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
