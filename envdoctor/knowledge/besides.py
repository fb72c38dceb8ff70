"""What must stand beside a line for it to mean what a row says, and what must not."""

from __future__ import annotations

import re
from collections.abc import Collection

from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern


@frozen
class Besides:
    """``beside`` in one of the texts, ``unless`` in none; where there is no such pattern, nothing is asked."""

    beside: Pattern | None
    unless: Pattern | None

    @classmethod
    def of(cls, beside: str, unless: str) -> Besides:
        """Of two expressions, in which case is ignored; "" for none."""
        one, other = (Pattern(source, re.IGNORECASE) if source else None for source in (beside, unless))
        return cls(beside=one, unless=other)

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        return tuple(filter(None, (self.beside, self.unless)))

    def stand(self, texts: Collection[str]) -> bool:
        """Do all of these texts together have what is asked, and nothing that is not?"""
        if self.beside is not None and not any(map(self.beside.search, texts)):
            return False
        return self.unless is None or not any(map(self.unless.search, texts))
