"""What people say beside "it is slow", and where such runs lose their time most often."""

from __future__ import annotations

import re
from functools import cached_property

from envdoctor.knowledge.besides import Besides
from envdoctor.knowledge.table import Rows, bundled_table
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern


@frozen
class Situation:
    """``said`` in one line of a report about a slow run (and ``beside`` in any, ``unless`` in none)."""

    name: str
    said: str
    meaning: str
    remedy: str
    source: str
    beside: str = ""
    unless: str = ""
    commands: tuple[str, ...] = ()

    @cached_property
    def _pattern(self) -> Pattern:
        return Pattern(self.said, re.IGNORECASE)

    @cached_property
    def _besides(self) -> Besides:
        return Besides.of(self.beside, self.unless)

    def is_in(self, text: str) -> bool:
        return self._pattern.search(text) is not None and self._besides.stand((text,))


SITUATIONS = Rows(bundled_table("slowness"), "situation", Situation)


def situations_in(text: str) -> tuple[str, ...]:
    """The names of those that the text of a report tells of."""
    return tuple(situation.name for situation in SITUATIONS if situation.is_in(text))
