"""Environment variables that are set and had better not be: for which values each acts, what it does, who says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from envdoctor.knowledge.table import Rows, bundled_table
from envdoctor.values.frozen import frozen

_OFF = frozenset({"", "0", "false", "no", "off", "none"})


def on(value: str) -> bool:
    """Set to anything that is not a word for off."""
    return value.strip().lower() not in _OFF


@frozen
class Variable:
    """A variable that acts ``when`` it has such a value; ``cuda`` ones do nothing in a run on the CPU."""

    name: str
    when: Literal["on", "set"] | tuple[str, ...]
    severity: Literal["note", "warning", "error"]
    effect: str
    source: str
    cuda: bool = False
    early: bool = False  # read when the interpreter or a library loads, before a startup hook could remove it

    def active(self, value: str) -> bool:
        if self.when == "on":
            return on(value)
        if self.when == "set":
            return value != ""
        return value.strip().lower() in {word.lower() for word in self.when}


@frozen
class Unread:
    """A variable of public launch files that no library reads, and what does what it seems to promise."""

    name: str
    instead: str


_TABLE = bundled_table("variables")
DEBUG = Rows(_TABLE, "debug", Variable)
COMPILE_OFF = Rows(_TABLE, "compile-off", Variable)
CACHES_OFF = Rows(_TABLE, "cache-off", Variable)
PROFILERS = Rows(_TABLE, "profiler", Variable)
NCCL = Rows(_TABLE, "nccl", Variable)
SETTINGS = Rows(_TABLE, "setting", Variable)
UNREAD = Rows(_TABLE, "unread", Unread)


def left_on(name: str, value: str) -> Iterator[Variable]:
    """What is known of a variable that was set to find a fault, or to switch something off, and acts at this value."""
    for rows in (DEBUG, COMPILE_OFF, CACHES_OFF, PROFILERS, NCCL):
        yield from (row for row in rows.among((name,)) if row.active(value))
