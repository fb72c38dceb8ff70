"""Lines without any of an error's usual words that the table of known errors knows all the same."""

from __future__ import annotations

from envdoctor.knowledge.errors import words_of_a_row

_MOST = 80
"""Lines of a text that are looked up: each is held against thousands of rows, and a log may have as many lines."""
_LONG = 400


class KnownLines:
    """Asks for one text."""

    def __init__(self) -> None:
        self._asked = 0

    def says(self, text: str) -> str:
        """What a row knows of this line; "" for a question, and for whatever comes after many lines."""
        if "?" in text or not 12 <= len(text) <= _LONG or self._asked == _MOST:
            return ""
        self._asked += 1
        return words_of_a_row(text)
