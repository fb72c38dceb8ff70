"""A value made here behaves as the standard dataclass of the same fields does."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.values.frozen import frozen


@frozen
class Ours:
    """Three fields of each kind."""

    name: str
    count: int = 0
    notes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    hidden: str = dataclasses.field(default="", repr=False, compare=False)

    @property
    def long(self) -> str:
        return self.name * 2


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Standard:
    """Three fields of each kind."""

    name: str
    count: int = 0
    notes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    hidden: str = dataclasses.field(default="", repr=False, compare=False)


GIVEN = st.fixed_dictionaries(
    {"name": st.text(max_size=2)},
    optional={"count": st.integers(0, 2), "notes": st.just({"a": "b"}), "hidden": st.text(max_size=1)},
)


@given(one=GIVEN, two=GIVEN)
def test_like_the_standard_one(one: dict[str, Any], two: dict[str, Any]) -> None:
    ours, standard = Ours(**one), Standard(**one)
    assert dataclasses.asdict(ours) == dataclasses.asdict(standard)
    assert repr(ours) == repr(standard).replace("Standard(", "Ours(")
    assert (ours == Ours(**two)) is (standard == Standard(**two))
    assert dataclasses.replace(ours, **two) == Ours(**{**one, **two})
    assert copy.deepcopy(ours) == pickle.loads(pickle.dumps(ours)) == ours
    assert ours.long == one["name"] * 2


def test_hash_follows_equality() -> None:
    assert hash(Key(at=1)) == hash(Key(at=1))
    assert len({Key(at=1), Key(at=1), Key(at=2)}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Ours(name="a"))


@frozen
class Key:
    at: int


@pytest.mark.parametrize(
    ("given", "message"), [({}, "name not given"), ({"name": "a", "nam": "b"}, "Ours: no field nam")]
)
def test_wrong_fields_are_named(given: dict[str, str], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Ours(**given)  # type: ignore[arg-type]


def test_nothing_can_be_assigned() -> None:
    ours = Ours(name="a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        ours.name = "b"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        ours.other = "b"  # type: ignore[attr-defined]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del ours.name
    other: object = Standard(name="a")
    assert ours != other


def test_factories_make_a_new_value_each_time() -> None:
    assert Ours(name="a").notes is not Ours(name="b").notes
