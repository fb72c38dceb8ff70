"""One thing that a text may tell beside an error (`circumstances` has them all)."""

from __future__ import annotations

import re

from envdoctor.facts.model import Facts
from envdoctor.knowledge.messages import everything
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern


@frozen
class Circumstance:
    """``said`` in any line of a text (and ``unless`` in none), which is kept where a message is ``of`` the matter."""

    of: Pattern
    said: Pattern
    unless: Pattern | None = None

    def found(self, facts: Facts) -> re.Match[str] | None:
        """Where it is told, whatever else is."""
        return next((match for text in everything(facts) if (match := self.said.search(text))), None)

    def stands(self, facts: Facts) -> bool:
        texts = everything(facts)
        if not any(self.said.search(text) for text in texts):
            return False
        return self.unless is None or not any(self.unless.search(text) for text in texts)

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        return (self.said,) if self.unless is None else (self.said, self.unless)
