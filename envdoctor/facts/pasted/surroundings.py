"""Lines that are no messages and decide what one means: a command, an index, a setting, a person's own word."""

from __future__ import annotations

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
        if found := next((match for pattern in left if (match := pattern.search(text))), None):
            found_by[found.re.pattern] += 1
            start = max(0, found.start() - _LONG // 3) if len(text) > _LONG else 0
            draft.remark(f"line {number}", text[start : start + _LONG])
            kept += 1
            if kept == _MOST:
                return


def _patterns_of_surroundings(said: str) -> Iterator[Pattern]:
    yield from asked_beside(said)
    for row in ERRORS:
        if row.beside and row.pattern.search(said):
            yield from row.besides.patterns
