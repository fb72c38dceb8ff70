"""One shape for what is known of an environment variable: for which values it acts, what it then does, and where that
is written. The tables are `debug_variables`, `cuda_variables` and `unread_variables`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from envdoctor.rule import Severity

_OFF = frozenset({"", "0", "false", "no", "off", "none"})


def on(value: str) -> bool:
    """Set to anything that is not a word for off."""
    return value.strip().lower() not in _OFF


def present(value: str) -> bool:
    """Set to anything at all."""
    return value != ""


def one_of(*words: str) -> Callable[[str], bool]:
    accepted = frozenset(word.lower() for word in words)
    return lambda value: value.strip().lower() in accepted


class Variable(NamedTuple):
    """A variable that acts when ``active(value)``; ``cuda`` ones do nothing in a run on the CPU."""

    name: str
    active: Callable[[str], bool]
    severity: Severity
    effect: str
    source: str
    cuda: bool = False
    early: bool = False  # read when the interpreter or a library loads, before a startup hook could remove it
