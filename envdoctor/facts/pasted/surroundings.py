"""Lines that are no messages and decide what one means: a command, an index, a setting, a person's own word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from envdoctor.facts.model import SHOWS
from envdoctor.facts.pasted.draft import Draft
from envdoctor.facts.pasted.page import Page
from envdoctor.knowledge.circumstances import asked_beside
from envdoctor.knowledge.errors import ERRORS
from envdoctor.knowledge.topics import shown_topics
from envdoctor.values.pattern import Pattern

_MOST = 40
_OF_EACH = 3
"""Lines that are kept because of one pattern: what is said once more tells no more."""
_LONG = 300
_PARTS = 3
"""Of a long line (a compiler's command), for all that is asked."""


def read(page: Page, draft: Draft) -> None:
    """Keep, as remarks, what the text has signs of, and the lines that a row of the errors asks for which may speak of
    a message; must run last."""
    said = "\n".join(draft.messages)
    if said and (topics := shown_topics("\n".join(page.lines))):
        draft.remark(SHOWS, ", ".join(sorted(topics)))
    asked = tuple(_patterns_of_surroundings(said)) if said else ()
    kept = 0
    found_by: Counter[str] = Counter()
    for number, line in enumerate(page.lines, start=1):
        text = line.strip()
        if not (asked and text) or text in draft.messages:
            continue
        left = (pattern for pattern in asked if found_by[pattern.source] < _OF_EACH)
        matches = (match for pattern in left if (match := pattern.search(text)))
        for part in _parts_that_hold(text, matches, found_by):
            draft.remark(f"line {number}" + (f" from {part}" if part else ""), text[part : part + _LONG])
            kept += 1
            if kept == _MOST:
                return


def _parts_that_hold(text: str, matches: Iterator[re.Match[str]], found_by: Counter[str]) -> Iterator[int]:
    """Where the parts of a line begin that are kept for what was found in it: a short one is kept whole."""
    kept: list[int] = []
    for found in matches:
        if any(start <= found.start() and found.end() <= start + _LONG for start in kept):
            continue
        found_by[found.re.pattern] += 1
        start = max(0, found.start() - _LONG // 3) if len(text) > _LONG else 0
        if start not in kept:
            kept.append(start)
            yield start
        if len(kept) == _PARTS:
            return


def _patterns_of_surroundings(said: str) -> Iterator[Pattern]:
    yield from asked_beside(said)
    for row in ERRORS:
        if row.beside and row.pattern.search(said):
            yield from row.besides.patterns
