"""How people complain of what prints no error: concepts that one sentence has, in whatever order."""

from __future__ import annotations

import re
from functools import cache, cached_property

from envdoctor.knowledge.table import Rows, bundled_table
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern


@frozen
class Concept:
    """A thing, and the words for it."""

    name: str
    said: str

    @cached_property
    def pattern(self) -> Pattern:
        return Pattern(self.said, re.IGNORECASE)


@frozen
class Wording:
    """A sentence with all ``words`` (names of concepts) and none of ``unless`` complains ``of`` that."""

    of: str
    words: tuple[str, ...]
    unless: tuple[str, ...] = ()

    def is_in(self, sentence: str) -> bool:
        found = _concepts()
        return all(found[name].pattern.search(sentence) for name in self.words) and not any(
            found[name].pattern.search(sentence) for name in self.unless
        )


CONCEPTS = Rows(bundled_table("wordings"), "concept", Concept)
WORDINGS = Rows(bundled_table("wordings"), "wording", Wording, by="of")


@cache
def _concepts() -> dict[str, Concept]:
    return {one.name: one for one in CONCEPTS}


_BETWEEN = re.compile(
    r"(?<=[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[\u2e80-\u9fff\uac00-\ud7af])"
)
"""Between letters of Latin and of Chinese, Japanese or Korean script, which are one word to a regular expression."""


def complaint_in(sentence: str) -> str | None:
    """What a sentence complains of, by the first wording that it has."""
    sentence = sentence if sentence.isascii() else _BETWEEN.sub(" ", sentence)
    return next((one.of for one in WORDINGS if one.is_in(sentence)), None)


def tells_of_trouble(heading: str) -> bool:
    """Does something not go as it should, whatever it is?"""
    return _concepts()["trouble"].pattern.search(heading) is not None
