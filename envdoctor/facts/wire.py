"""Frozen values to JSON and back, with the exact position of whatever does not fit.

``Unavailable`` sections travel tagged (``{"unavailable": ..., "why": ...}``), so that an absent section can never be
mistaken for an empty one.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from envdoctor.facts.model import Unavailable

T = TypeVar("T")


class WireError(ValueError):
    """A JSON value does not describe what it should; ``where`` is its path, as in ``gpus.devices[0].name``."""

    def __init__(self, where: str, problem: str) -> None:
        self.where = where
        self.problem = problem
        super().__init__(f"{where or 'top level'}: {problem}")


def to_json(value: object) -> Any:
    """Plain dicts, lists and scalars; fields that still hold their default are left out, so diffs stay short."""
    if isinstance(value, Unavailable):
        return {"unavailable": value.reason, "why": value.why}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: to_json(member)
            for field in dataclasses.fields(value)
            if (member := getattr(value, field.name)) != _default(field)
        }
    if isinstance(value, Mapping):
        return {str(key): to_json(member) for key, member in sorted(value.items())}
    if isinstance(value, (tuple, list)):
        return [to_json(member) for member in value]
    return value


def _default(field: dataclasses.Field[Any]) -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


@functools.cache
def _fields(cls: type) -> dict[str, tuple[Any, bool]]:
    """Hint of every field, and whether it has to be given; hundreds of values of a class are read one after another."""
    hints = typing.get_type_hints(cls)
    return {
        field.name: (
            hints[field.name],
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(typing.cast(Any, cls))
    }


def from_json(kind: type[T], data: object, where: str = "") -> T:
    """Build ``kind`` from JSON data. Raises `WireError` for a wrong type, a missing or an unknown field."""
    if not isinstance(data, dict):
        raise WireError(where, f"expected an object, found {_describe(data)}")
    fields = _fields(typing.cast(Any, kind))
    for key in data:
        if key not in fields:
            raise WireError(_join(where, str(key)), "unknown field")
    arguments = {}
    for name, (hint, needed) in fields.items():
        if name in data:
            member = data[name]
            plain = hint is str and type(member) is str  # nearly all are
            arguments[name] = member if plain else _convert(hint, member, _join(where, name))
        elif needed:
            raise WireError(_join(where, name), "missing")
    return kind(**arguments)


def _convert(hint: Any, data: object, where: str) -> Any:
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return _union(typing.get_args(hint), data, where)
    if origin is typing.Literal:
        if data not in typing.get_args(hint):
            choices = ", ".join(map(str, typing.get_args(hint)))
            raise WireError(where, f"expected one of {choices}, found {_describe(data)}")
        return data
    if origin is tuple:
        if not isinstance(data, list):
            raise WireError(where, f"expected a list, found {_describe(data)}")
        (member, *_) = typing.get_args(hint)
        if member is str and all(type(item) is str for item in data):
            return tuple(data)  # thousands of requirements
        return tuple(_convert(member, item, f"{where}[{index}]") for index, item in enumerate(data))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(data, dict):
            raise WireError(where, f"expected an object, found {_describe(data)}")
        member = typing.get_args(hint)[1]
        return {key: _convert(member, item, _join(where, key)) for key, item in data.items()}
    if dataclasses.is_dataclass(hint):
        return from_json(typing.cast(type, hint), data, where)
    if hint is float and isinstance(data, (int, float)) and not isinstance(data, bool):
        return _finite(data, where)
    if hint is Any or (isinstance(data, hint) and not (isinstance(data, bool) and hint is not bool)):
        return data
    raise WireError(where, f"expected {hint.__name__}, found {_describe(data)}")


def _finite(data: float, where: str) -> float:
    try:
        value = float(data)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise WireError(where, f"expected a finite number, found {_describe(data)}")
    return value


def _union(members: tuple[Any, ...], data: object, where: str) -> Any:
    if data is None and type(None) in members:
        return None
    if Unavailable in members and isinstance(data, dict) and "unavailable" in data:
        reason, why = data["unavailable"], data.get("why", "failed")
        return from_json(Unavailable, {"reason": reason, "why": why}, where)
    remaining = [member for member in members if member not in (Unavailable, type(None))]
    if len(remaining) == 1:
        return _convert(remaining[0], data, where)
    problems = []
    for member in remaining:
        try:
            return _convert(member, data, where)
        except WireError as problem:
            problems.append(problem.problem)
    raise WireError(where, "; ".join(problems))


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _describe(data: object) -> str:
    text = repr(data)
    return text if len(text) <= 40 else f"{type(data).__name__} {text[:37]}..."
