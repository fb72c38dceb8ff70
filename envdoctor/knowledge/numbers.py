"""Versions of drivers, CUDA and Python as tuples of numbers, as many parts as the text gives."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

Numbers = tuple[int, ...]


@functools.lru_cache(maxsize=1024)
def numbers(text: str | None) -> Numbers:
    """The leading dotted numbers of a version: ``"535.183.01"`` is (535, 183, 1), ``"2.7.0.dev1+cu124"`` is (2, 7, 0).

    Empty when the text has none.
    """
    match = re.match(r"\s*v?(\d+(?:\.\d+)*)", text or "")
    return tuple(int(part) for part in match[1].split(".")) if match else ()


def line(text: str | None) -> str | None:
    """Major and minor of a CUDA version as every table here spells it: ``"10.1.243"`` is ``"10.1"``."""
    parts = numbers(text)
    return f"{parts[0]}.{parts[1]}" if len(parts) >= 2 else None


def reaches(version: Sequence[int], minimum: Sequence[int]) -> bool:
    """Is ``version`` at least ``minimum``, as far as ``version`` is known?

    Reports often give only a branch ("535"): its missing parts count as sufficient, so that nothing is called too old
    that may be new enough.
    """
    known = min(len(version), len(minimum))
    return tuple(version[:known]) >= tuple(minimum[:known])


def capability(text: str | None) -> tuple[int, int] | None:
    """A compute capability ``"9.0"`` as (9, 0); None when it is not one."""
    parts = numbers(text)
    return (parts[0], parts[1]) if len(parts) == 2 else None
