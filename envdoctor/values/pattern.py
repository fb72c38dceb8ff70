"""Regular expressions that are compiled when they are first used.

Hundreds are written in the rules, most for errors that a healthy environment never prints; compiling all of them took a
tenth of the time of ``envdoctor check --no-torch``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property


class Pattern:
    """``re.compile(source, flags)``, compiled at the first search. Raises `re.error` there, for a broken source."""

    def __init__(self, source: str, flags: int = 0) -> None:
        self.source = source
        self.flags = flags

    def __repr__(self) -> str:
        return f"Pattern({self.source!r})"

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.source, self.flags)

    def search(self, text: str) -> re.Match[str] | None:
        return self._compiled.search(text)

    def match(self, text: str) -> re.Match[str] | None:
        return self._compiled.match(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self._compiled.fullmatch(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self._compiled.finditer(text)

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        return self._compiled.sub(replacement, text, count)
