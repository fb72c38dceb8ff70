"""Errors by which packages that are out of step are known, although no package of the pair says so itself."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from functools import cached_property

from envdoctor.knowledge.table import Rows, bundled_table
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern


@frozen
class Symptom:
    """``said`` means that ``package`` (a release within ``moved``, "" for any) and its caller do not go together."""

    said: str
    package: str
    meaning: str
    instead: str
    source: str
    moved: str = ""
    unless: str = ""
    beside: str = ""
    usually: str = ""

    @cached_property
    def pattern(self) -> Pattern:
        return Pattern(self.said, re.IGNORECASE)

    def is_excepted(self, lines: Iterable[str]) -> bool:
        """Does one of the lines say with what the error means something else, or none what must stand beside it?"""
        if self.beside and not any(Pattern(self.beside, re.IGNORECASE).search(line) for line in lines):
            return True
        return bool(self.unless) and any(Pattern(self.unless, re.IGNORECASE).search(line) for line in lines)


_TABLE = bundled_table("symptoms")
SYMPTOMS = Rows(_TABLE, "symptom", Symptom, by="package")


def words_of_a_symptom(line: str) -> str:
    """What of this line a symptom is told by, whatever stands beside it; "" for nothing."""
    rows = (row for row in SYMPTOMS if not row.beside)
    return next((found[0] for row in rows if (found := row.pattern.search(line))), "")


@functools.cache
def callees() -> Mapping[str, str]:
    """Names that appear in "got an unexpected keyword argument" -> the distribution whose release decides."""
    return {name: package for package, names in _TABLE.head["callees"].items() for name in names}


@functools.cache
def rivals(callee: str) -> tuple[str, ...]:
    """Other libraries that have something of this name, so that it alone does not tell whose it is."""
    last = callee.rpartition(".")[2]
    return tuple(package for package, names in _TABLE.head["shared"].items() if callee in names or last in names)


def is_everyday(callee: str) -> bool:
    """Do projects name classes of their own so?"""
    return callee in _TABLE.head["everyday"]


_CALLEE = Pattern(r"TypeError: (?P<callee>[A-Za-z_][\w.]{0,120}?)(?:\.__init__)?\(\) (?:got|missing|takes)")


def names_the_called(line: str) -> bool:
    """Does the error name a function whose distribution is known? Then whoever passed it on is not to blame."""
    found = _CALLEE.search(line)
    if any(row.pattern.search(line) for row in SYMPTOMS):
        return True
    return found is not None and (found["callee"] in callees() or found["callee"].rpartition(".")[2] in callees())
