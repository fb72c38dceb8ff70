"""JSON Schema (draft 2020-12) of a frozen class: its fields, their types, which are required, and what it says."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Mapping
from typing import Any

from envdoctor.facts.model import Unavailable

SCALARS: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def schema_of(kind: type, title: str, *, tagged: bool = False) -> dict[str, Any]:
    """``tagged``: sections that could not be read travel as {"unavailable": reason, "why": word}, as in facts."""
    parts: dict[str, Any] = {}
    reference = _schema(kind, parts, tagged)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **reference,
        "$defs": dict(sorted(parts.items())),
    }


def _schema(hint: Any, parts: dict[str, Any], tagged: bool) -> dict[str, Any]:
    origin, members = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return {}
    if hint in SCALARS:
        return {"type": SCALARS[hint]}
    if origin is typing.Literal:
        return {"enum": list(members)}
    if origin in (typing.Union, types.UnionType):
        choices = [{"type": "null"} if m is type(None) else _schema(m, parts, tagged) for m in members]
        return {"anyOf": choices}
    if origin is tuple:
        return {"type": "array", "items": _schema(members[0], parts, tagged)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(members[1], parts, tagged)}
    assert dataclasses.is_dataclass(hint), hint
    name = typing.cast(type, hint).__name__
    if name not in parts:
        parts[name] = {}  # a class may hold itself
        parts[name] = _class(typing.cast(type, hint), parts, tagged)
    return {"$ref": f"#/$defs/{name}"}


def _class(kind: type, parts: dict[str, Any], tagged: bool) -> dict[str, Any]:
    if kind is Unavailable and tagged:
        why = _schema(typing.get_type_hints(kind)["why"], parts, tagged)
        return {
            "type": "object",
            "required": ["unavailable", "why"],
            "properties": {"unavailable": {"type": "string"}, "why": why},
        }
    hints = typing.get_type_hints(kind)
    fields = dataclasses.fields(kind)
    needed = [f.name for f in fields if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING]
    return {
        "description": inspect.cleandoc(kind.__doc__ or ""),
        "type": "object",
        "required": needed,
        "properties": {field.name: _schema(hints[field.name], parts, tagged) for field in fields},
    }


def closed(schema: Any) -> Any:
    """The same schema, which refuses fields that it does not name: for tests, where a new field is to be seen."""
    if isinstance(schema, list):
        return [closed(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(member) for name, member in schema.items()}
    if isinstance(found.get("properties"), dict) and "required" in found:
        found.setdefault("additionalProperties", False)
    return found
