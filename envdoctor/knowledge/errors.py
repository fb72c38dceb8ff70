"""Errors that say by their words alone what is wrong, whichever tool prints them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Literal

from envdoctor.facts.model import Facts
from envdoctor.knowledge.besides import Besides
from envdoctor.knowledge.messages import everything
from envdoctor.knowledge.table import Rows, bundled_table
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern

_MISSING_CLASS = Pattern(
    r"(?:cannot import name|has no attribute) ['\"](?P<name>\w{1,70}(?:Error|Exception|Warning))['\"]"
)


@frozen
class KnownError:
    """``said`` in one line of a report (and ``beside`` in any line, ``unless`` in none) means ``kind`` of ``subject``.

    ``meaning`` is what the line proves, ``usually`` what lies behind it in most cases. Texts may hold ``{name}`` and
    other groups of ``said``, ``{cuda}`` for torch's CUDA line.
    """

    said: str
    kind: str
    subject: str
    meaning: str
    remedy: str
    source: str
    usually: str = ""
    beside: str = ""
    unless: str = ""
    commands: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()  # what is typed in place of ``commands``, not after them
    windows: tuple[str, ...] = ()  # in place of ``commands`` on Windows
    windows_remedy: str = ""  # in place of ``remedy`` there
    who: Literal["you", "image", "host"] = "you"
    severity: Literal["error", "warning"] = "error"
    weak: bool = False  # whatever is more specific explains it
    last: bool = False  # said of any such failure: only where no other row speaks
    explains: tuple[str, ...] = ()  # rules whose findings follow from it, in place of those that a row explains else
    alone: bool = False  # told by its form alone: only where no row at all speaks, not even a last one, and no error

    @property
    def guess(self) -> bool:
        """Does the meaning name what the error has most often, where others are possible?"""
        return "most often" in self.meaning or "mostly" in self.meaning

    @cached_property
    def pattern(self) -> Pattern:
        return Pattern(self.said, re.IGNORECASE)

    def match(self, line: str) -> re.Match[str] | None:
        """Where it says something of a line; None where that is only the name of a class of errors which could not be
        imported, as that does not tell that such an error was met."""
        match = self.pattern.search(line)
        missing = _MISSING_CLASS.search(line) if match else None
        if match is None or missing is None:
            return match
        begin, end = missing.span("name")
        return None if begin <= match.start() and match.end() <= end else match

    @cached_property
    def besides(self) -> Besides:
        """What must stand somewhere else in the report, and what must not."""
        return Besides.of(self.beside, self.unless)


@frozen
class Hint:
    """``said`` is an error that names no cause; ``help`` is what would tell it."""

    said: str
    help: str
    source: str

    @cached_property
    def pattern(self) -> Pattern:
        return Pattern(self.said, re.IGNORECASE)


_TABLE = bundled_table("errors")
ERRORS = Rows(_TABLE, "error", KnownError, by="kind")
HINTS = Rows(_TABLE, "hint", Hint, by="said")


def errors_in(facts: Facts, line: str) -> Iterator[KnownError]:
    """The rows that say what this line of a report means, but for those that are said of any such failure."""
    around = everything(facts)
    return (row for row in _rows_that_say(line) if row.besides.stand(around))


def words_of_a_row(line: str, *, weak: bool = False) -> str:
    """What of this line a row knows, by itself and not by its form; "" for nothing. Rows that are ``weak`` count where
    it is known that a program printed the line."""
    rows = (row for row in _rows_that_say(line) if not (row.alone or row.beside or (row.weak and not weak)))
    return next((found[0] for row in rows if (found := row.match(line))), "")


@functools.lru_cache(maxsize=1_000)  # several rules ask of the same lines, and each row is a search
def _rows_that_say(line: str) -> tuple[KnownError, ...]:
    return tuple(row for row in ERRORS if not row.last and row.match(line))
