"""Facts to JSON and back: nothing is lost, and whatever does not fit is named by its place."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from envdoctor.facts import model, wire
from envdoctor.facts.model import Facts, Gpu, Gpus, Packages, Torch, Unavailable

SECTIONS = sorted(
    {
        kind
        for kind in vars(model).values()
        if dataclasses.is_dataclass(kind) and isinstance(kind, type) and kind is not Unavailable
    },
    key=lambda kind: kind.__name__,
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def strategy(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type hint, as `envdoctor.facts` uses hints."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return st.one_of([strategy(member) for member in arguments])
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(strategy(arguments[0]), max_size=2).map(tuple)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(TEXT, strategy(arguments[1]), max_size=2)
    if dataclasses.is_dataclass(hint):
        return instances(typing.cast(type, hint))
    if hint is float:
        return st.floats(allow_nan=False, allow_infinity=False)
    return {int: st.integers(), str: TEXT, bool: st.booleans(), type(None): st.none()}[hint]


def instances(kind: type) -> st.SearchStrategy[Any]:
    """Instances with some of their fields set, the others at their defaults."""
    hints = typing.get_type_hints(kind)
    required, optional = {}, {}
    for field in dataclasses.fields(kind):
        bare = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        (required if bare else optional)[field.name] = st.deferred(lambda hint=hints[field.name]: strategy(hint))
    return st.fixed_dictionaries(required, optional=optional).map(lambda values: kind(**values))


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("kind", SECTIONS, ids=lambda kind: kind.__name__)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
@given(data=st.data())
def test_round_trip(kind: type, data: st.DataObject) -> None:
    value = data.draw(instances(kind))
    text = json.dumps(wire.to_json(value))
    assert wire.from_json(kind, json.loads(text)) == value


def attempt(kind: type, data: Any) -> tuple[Any, wire.WireError | None]:
    """The value, or the one error that reading may raise."""
    try:
        return wire.from_json(kind, data), None
    except wire.WireError as error:
        return None, error


@given(ANY_JSON)
@settings(deadline=None)
def test_any_json_is_facts_or_a_named_mistake(data: Any) -> None:
    read, error = attempt(Facts, data)
    assert isinstance(read, Facts) or (error is not None and str(error).startswith(error.where or "top level"))


@given(data=st.data(), junk=ANY_JSON)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_one_foreign_value_in_a_section_is_accepted_whole_or_named(data: st.DataObject, junk: Any) -> None:
    kind = data.draw(st.sampled_from(SECTIONS))
    name = data.draw(st.sampled_from([field.name for field in dataclasses.fields(kind)]))
    value = wire.to_json(data.draw(instances(kind)))
    value[name] = junk
    read, error = attempt(kind, value)
    if error is not None:
        assert error.where.startswith(name)
    else:
        assert wire.from_json(kind, wire.to_json(read)) == read


@given(data=st.data())
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_an_unknown_field_is_named(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(SECTIONS))
    name = data.draw(TEXT)
    assume(name not in {field.name for field in dataclasses.fields(kind)})
    with pytest.raises(wire.WireError, match="unknown field"):
        wire.from_json(kind, {**wire.to_json(data.draw(instances(kind))), name: 1})


@pytest.mark.parametrize(
    ("data", "where", "problem"),
    [
        ([], "", "expected an object, found []"),
        ({"gpus": {"devices": [{"index": 0}]}}, "gpus.devices[0].name", "missing"),
        ({"gpus": {"devices": [{"index": "0", "name": "x"}]}}, "gpus.devices[0].index", "expected int, found '0'"),
        ({"gpus": {"devices": [{"index": True, "name": "x"}]}}, "gpus.devices[0].index", "expected int, found True"),
        ({"gpus": {"devices": {}}}, "gpus.devices", "expected a list, found {}"),
        ({"origin": {"kind": "guess"}}, "origin.kind", "expected one of probe, recorded, pasted, image, found 'guess'"),
        ({"seconds": {"a": "b"}}, "seconds.a", "expected float, found 'b'"),
        ({"seconds": {"a": float("nan")}}, "seconds.a", "expected a finite number, found nan"),
        (
            {"seconds": {"a": 10**400}},
            "seconds.a",
            "expected a finite number, found int 1000000000000000000000000000000000000...",
        ),
        ({"variables": {"A": 1}}, "variables.A", "expected str, found 1"),
        ({"torch": {"unavailable": 3}}, "torch.reason", "expected str, found 3"),
        ({"torch": {"unavailable": "x", "why": "because"}}, "torch.why", "expected one of"),
        ({"hosts": {}}, "hosts", "unknown field"),
    ],
)
def test_mistakes_are_named_by_their_place(data: Any, where: str, problem: str) -> None:
    with pytest.raises(wire.WireError) as caught:
        wire.from_json(Facts, data)
    assert caught.value.where == where
    assert caught.value.problem.startswith(problem)


def test_an_absent_section_is_not_an_empty_one() -> None:
    absent = Facts(torch=Unavailable(reason="import torch: SIGSEGV", why="crashed"))
    empty = Facts(packages=Packages())
    for value in (absent, empty):
        assert wire.from_json(Facts, wire.to_json(value)) == value
    assert wire.to_json(absent) == {"torch": {"unavailable": "import torch: SIGSEGV", "why": "crashed"}}
    assert wire.to_json(empty) == {"packages": {}}


def test_defaults_are_left_out_and_whole_numbers_become_floats() -> None:
    gpus = Gpus(devices=(Gpu(index=0, name="NVIDIA H100", power_limit=700.0),), count=1)
    assert wire.to_json(gpus) == {"devices": [{"index": 0, "name": "NVIDIA H100", "power_limit": 700.0}], "count": 1}
    assert wire.from_json(Gpu, {"index": 0, "name": "x", "power_limit": 700}).power_limit == 700.0


def test_empty_and_unknown_are_kept_apart() -> None:
    known = Gpu(index=0, name="x", throttle_reasons=())
    assert wire.from_json(Gpu, wire.to_json(known)).throttle_reasons == ()
    assert wire.from_json(Gpu, {"index": 0, "name": "x"}).throttle_reasons is None
    assert wire.from_json(Torch, {"version": "2.9", "cuda": ""}).cuda == ""
