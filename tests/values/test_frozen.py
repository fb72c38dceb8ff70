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


@frozen
class Lazy:
    """Fields that nobody has asked for yet."""

    name: str
    count: int = dataclasses.field(default=3, compare=False)
    notes: tuple[str, ...] = dataclasses.field(default_factory=tuple, repr=False)


@dataclasses.dataclass(init=False, repr=False, eq=False)
class Plain:
    """Fields that nobody has asked for yet."""

    name: str
    count: int = dataclasses.field(default=3, compare=False)
    notes: tuple[str, ...] = dataclasses.field(default_factory=tuple, repr=False)


def test_fields_are_those_of_the_standard_one_once_somebody_asks() -> None:
    one = Lazy(name="a")
    assert "_body" in vars(vars(Lazy)["__dataclass_fields__"]), "they were made before anybody asked"
    asked: Any = one
    assert dataclasses.is_dataclass(asked)
    told = [(f.name, f.type, f.default, f.default_factory, f.compare, f.repr) for f in dataclasses.fields(asked)]
    standard: Any = Plain
    assert told == [
        (f.name, f.type, f.default, f.default_factory, f.compare, f.repr) for f in dataclasses.fields(standard)
    ]
    assert isinstance(vars(Lazy)["__dataclass_fields__"], dict), "they are made once"
    assert (Lazy.count, one.count, hasattr(Lazy, "notes")) == (3, 3, False)
    assert Lazy.__match_args__ == standard.__match_args__  # type: ignore[attr-defined]
    assert repr(one) == "Lazy(name='a', count=3)"


@dataclasses.dataclass(init=False)
class Heir(Ours):
    """One of the standard decorator's that inherits from one of ours."""


@frozen
class Child(Key):
    """One of ours that inherits from another."""

    more: str = "x"


def test_fields_are_inherited() -> None:
    assert [field.name for field in dataclasses.fields(Heir)] == ["name", "count", "notes", "hidden"]
    assert (Child(at=1), Child(at=1, more="y").more) == (Child(at=1, more="x"), "y")
    with pytest.raises(TypeError, match="at not given"):
        Child()  # type: ignore[call-arg]


def test_what_the_standard_decorator_refuses_is_refused_when_somebody_asks() -> None:
    @frozen
    class Wrong:
        members: list[str] = []  # noqa: RUF012 - this is what is wrong

    given: Any = Wrong
    with pytest.raises(ValueError, match="mutable default"):
        dataclasses.fields(given)


def test_nobody_asks_for_the_signature_of_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `dataclasses` does for a text of its own where a class has none: half a millisecond for each of a hundred."""

    @frozen
    class New:
        name: str

    asked: list[object] = []
    monkeypatch.setattr("inspect.signature", asked.append)
    assert [field.name for field in dataclasses.fields(New)] == ["name"]  # type: ignore[arg-type]
    assert asked == []
