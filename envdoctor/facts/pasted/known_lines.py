"""Lines without any of an error's usual words that the tables of known errors know all the same."""

from __future__ import annotations

from envdoctor.knowledge.errors import words_of_a_row
from envdoctor.knowledge.symptoms import words_of_a_symptom
from envdoctor.values.pattern import Pattern

_MOST = 80
"""Lines of a text that are looked up: each is held against thousands of rows, and a log may have as many lines."""
_LONG = 400
_WARNING = Pattern(r"\b[A-Z]\w{2,30}Warning: (?P<said>.{8,300})")
"""Of a program, within a person's sentence: then also rows that say what such a line means in most cases."""


class KnownLines:
    """Asks for one text."""

    def __init__(self) -> None:
        self._asked = 0

    def says(self, text: str) -> str:
        """What a row knows of this line; "" for a question, and for whatever comes after many lines."""
        if "?" in text or not 12 <= len(text) <= _LONG or self._asked == _MOST:
            return ""
        self._asked += 1
        warned = _WARNING.search(text)
        known = words_of_a_row(text) or words_of_a_symptom(text)
        return known or (words_of_a_row(warned[0], weak=True) if warned else "")
