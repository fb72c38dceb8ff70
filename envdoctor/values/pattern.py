"""Regular expressions that are compiled when a text holds one of the words without which they cannot match.

Hundreds are written in the rules and readers, most for errors that a healthy environment never prints; compiling all of
them took a tenth of the time of ``envdoctor check --no-torch``, and searching with all of them most of ``diagnose``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property

from envdoctor.values.literals import branches, required_literals, small

_ANY_CASE = "(?i)"


class Pattern:
    """``re.compile(source, flags)``, compiled at the first search. Raises `re.error` there or later, for a broken
    source."""

    def __init__(self, source: str, flags: int = 0) -> None:
        if source.startswith(_ANY_CASE):  # said once for all alternatives, each of which is tried by itself
            source, flags = source[len(_ANY_CASE) :], flags | re.IGNORECASE
        self.source = source
        self.flags = flags

    def __repr__(self) -> str:
        return f"Pattern({self.source!r})"

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.source, self.flags)

    @cached_property
    def _words(self) -> tuple[str, ...]:
        return () if self.flags & re.VERBOSE else required_literals(self.source)

    @cached_property
    def _parts(self) -> tuple[tuple[tuple[str, ...], Pattern], ...]:
        """Each alternative with the words of which it needs one."""
        if self.flags & re.VERBOSE:
            return (((), self),)
        return tuple((required_literals(source), Pattern(source, self.flags)) for source in branches(self.source))

    def may_match(self, text: str) -> bool:
        """False only where the expression matches nowhere in ``text``: a cheap look before many searches."""
        words = self._words
        if not words:
            return True
        plain = small(text)
        for word in words:  # noqa: SIM110 - `any` takes twice as long
            if word in plain:
                return True
        return False

    def search(self, text: str) -> re.Match[str] | None:
        return self._compiled.search(text) if self.may_match(text) else None

    def is_in(self, text: str) -> bool:
        """Whether it matches anywhere. Of hundreds of alternatives this tries those whose words are in the text, where
        `search` tries each of them at each place."""
        plain = small(text)
        return any(
            part.search(text) for words, part in self._parts if not words or any(word in plain for word in words)
        )

    def match(self, text: str) -> re.Match[str] | None:
        return self._compiled.match(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self._compiled.fullmatch(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self._compiled.finditer(text) if self.may_match(text) else iter(())

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        return self._compiled.sub(replacement, text, count) if self.may_match(text) else text
