"""A pylock as text: the same lock is always the same bytes, one line for each wheel, whatever wrote it before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tomli_w


def text(lock: Mapping[str, Any], *, comment: str = "") -> str:
    """PEP 751 TOML. ``comment`` becomes the lines at the top.

    tomli-w would give each wheel four lines and each hash a table of its own; here a lock of 80 packages stays readable
    in a diff: a new release changes the lines of its package and no others.
    """
    return "\n".join(_lines(lock, comment)) + "\n"


def _lines(lock: Mapping[str, Any], comment: str) -> Iterator[str]:
    yield from (f"# {line}".rstrip() for line in comment.splitlines())
    for key, value in lock.items():
        if key != "packages" or not value:
            yield from _entry(key, value)
    for package in lock["packages"]:
        yield ""
        yield "[[packages]]"
        for key, value in package.items():
            yield from _entry(key, value)


def _entry(key: str, value: Any) -> Iterator[str]:
    if isinstance(value, list) and len(value) > 1 and key in ("wheels", "environments"):
        yield f"{_key(key)} = ["
        yield from (f"    {_value(item)}," for item in value)
        yield "]"
    else:
        yield f"{_key(key)} = {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {_value(item)}" for key, item in value.items() if item is not None)
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_value, value)) + "]"
    return tomli_w.dumps({"x": value}).removeprefix("x = ").rstrip("\n")


def _key(key: str) -> str:
    return tomli_w.dumps({key: 0}).removesuffix(" = 0\n")
