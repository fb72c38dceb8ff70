"""The journal survives being written and read, and whatever else it may say it leads to one clear trouble."""

from __future__ import annotations

import contextlib
import json
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envdoctor.change import journal
from envdoctor.change.journal import Generation, Journal, Pending
from envdoctor.change.places import Places, places
from envdoctor.change.recover import recover
from envdoctor.errors import Trouble

FULL = Journal(
    current=Generation(number=3, made=1.5, summary="alpha 2.0", mark="abc", parent=2),
    states=(
        Generation(number=1, made=1.0, summary="as it was found", slot=1),
        Generation(number=2, made=1.2, summary="ü", mark="x", parent=1, slot=2, side="old", against=3),
    ),
    doomed=(7,),
    pending=Pending(
        action="overwriting", slot=4, incoming=Generation(number=4, made=2.0, summary="s", slot=4), inode=9, back="old"
    ),
    last=4,
)


@pytest.fixture
def where(tmp_path: Path) -> Places:
    found = places(tmp_path / "env")
    found.control.mkdir()
    return found


def test_it_says_what_was_written(where: Places) -> None:
    journal.write(where, FULL)
    assert journal.read(where) == FULL


def test_an_environment_made_anew_by_others_is_a_state_of_its_own(where: Places) -> None:
    journal.write(where, replace(FULL, pending=None))
    where.real.mkdir()
    found = journal.read(where)
    assert (found.current.number, found.current.mark, found.current.parent, found.last) == (5, "", None, 5)
    assert found.states == FULL.states


def test_nothing_but_numbered_siblings_is_ever_named(tmp_path: Path) -> None:
    where = places(tmp_path / "env")
    for path in (where.slot(3), where.control, where.aside, where.kept(3)):
        assert path.is_relative_to(tmp_path)
        assert path.name.startswith(".envdoctor-")


@pytest.mark.parametrize("name", ["", "/"])
def test_the_root_is_no_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    with pytest.raises(Trouble, match="is not an environment"):
        places(Path(name))


def test_a_name_without_room_for_siblings(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="too long"):
        places(tmp_path / ("x" * 250))


def test_two_environments_never_share_a_sibling(tmp_path: Path) -> None:
    names = ["venv", ".venv", "venv-1", "venv-1-1", "venv.journal", "venv.aside"]
    found = [places(tmp_path / name) for name in names]
    siblings = [path for one in found for path in (one.control, one.aside, *(one.slot(n) for n in range(1, 20)))]
    assert len(set(siblings)) == len(siblings)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 5) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_anything_else_is_one_clear_trouble(data: st.DataObject) -> None:
    """One value somewhere in a good journal is replaced by any other."""
    document = json.loads(json.dumps({"schema": journal.SCHEMA, **asdict(FULL)}))
    place = document
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else list(range(len(place)))))
        if isinstance(place[key], (dict, list)) and place[key] and data.draw(st.booleans()):
            place = place[key]
            continue
        place[key] = data.draw(VALUES)
        break
    with tempfile.TemporaryDirectory() as folder:
        where = places(Path(folder) / "env")
        where.control.mkdir()
        (where.control / "journal.json").write_text(json.dumps(document))
        (Path(folder) / "precious").write_text("")
        with contextlib.suppress(Trouble):
            journal.read(where)
        with contextlib.suppress(Trouble):
            recover(where.environment)
        assert (Path(folder) / "precious").exists()
