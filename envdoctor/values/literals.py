"""What a text must hold so that a regular expression can match anywhere in it: a look that costs next to nothing.

Most expressions look for words that most texts do not hold, and without regard to case `re` tries each alternative at
each place: the look saves three quarters of `diagnose`. It is wrong in one direction only, by letting a text through.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from envdoctor.values.once import once

LONG = 6  # of two choices of words that are at least so long, the one with fewer words is taken
_COUNT = re.compile(r"\{(?P<least>\d*)(?P<more>,\d*)?\}")
_GROUP = re.compile(r"\((?:\?(?P<kind><?[=!]|P=[^)]*|#[^)]*|P<\w+>|>|[aiLmsu-]*:|[aiLmsu]+(?=\))))?")
_FLAGS = re.compile(r"\(\?[aiLmsux]+\)")  # which are of the whole expression
_CLASSES = "dDwWsSbBAZ"
_CONTROLS = "afnrtv"
_ODD = (
    ("\u0130", "i"),
    ("\u0131", "i"),
    ("\u017f", "s"),
    ("\u212a", "k"),
)  # which `re` takes for an ASCII letter where case is ignored

Words = frozenset[str]


class _Unclear(Exception):
    """Something that is not read here."""


def _small(text: str) -> str:
    if not text.isascii():
        for odd, plain in _ODD:
            text = text.replace(odd, plain)
    return text.lower()


_of_line = functools.lru_cache(maxsize=512)(_small)
_of_report = once(_small)  # hundreds of expressions are asked about the same one


def small(text: str) -> str:
    """``text`` as `required_literals` are looked for in it: lower case, as `re` understands it of ASCII letters."""
    return _of_line(text) if len(text) <= 4_000 else _of_report(text)


@functools.cache
def required_literals(source: str) -> tuple[str, ...]:
    """Words, in lower case, of which each text holds one that the expression matches in; () if none can be told.

    For expressions in which blanks count (without ``re.VERBOSE``).
    """
    reader = _Reader(source)
    try:
        found = reader.alternatives()
    except (_Unclear, IndexError):
        return ()
    return tuple(sorted(found)) if found and reader.at == len(source) else ()


@functools.cache
def branches(source: str) -> tuple[str, ...]:
    """The alternatives that an expression consists of; itself, where it is one or is not read here."""
    reader = _Reader(source)
    ends: list[int] = []
    try:
        reader.alternatives(ends)
    except (_Unclear, IndexError):
        return (source,)
    if reader.at != len(source) or "(?P=" in source or _FLAGS.match(source):
        return (source,)
    return tuple(source[begin:end] for begin, end in zip((0, *(end + 1 for end in ends)), (*ends, None), strict=True))


class _Reader:
    """Reads an expression from left to right; ``at`` is the place that comes next."""

    def __init__(self, source: str) -> None:
        self.source, self.at = source, 0

    def alternatives(self, ends: list[int] | None = None) -> Words:
        """The words of all branches up to the end of a group; none where one branch has none. ``ends`` receives where
        each but the last of them ends."""
        found = [self._branch()]
        while self.source[self.at : self.at + 1] == "|":
            if ends is not None:
                ends.append(self.at)
            self.at += 1
            found.append(self._branch())
        return frozenset().union(*found) if all(found) else frozenset()

    def _branch(self) -> Words:
        """The best choice of words among the runs of letters and the groups of one branch."""
        choices: list[Words] = []
        run = ""
        for letter, group in self._items():
            least = self._least()
            if letter and least == 1:
                run += letter
                continue
            choices += [frozenset({run + (letter if least else "")}), group if least else frozenset()]
            run = ""
        choices.append(frozenset({run}))
        return max((choice for choice in choices if choice and "" not in choice), key=_worth, default=frozenset())

    def _items(self) -> Iterator[tuple[str, Words]]:
        """Each item of a branch: the letter that it stands for, or the words of its group, or neither."""
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            letter = self.source[self.at]
            self.at += 1
            if letter == "(":
                yield "", self._group()
            elif letter == "[":
                self._skip_class()
                yield "", frozenset()
            elif letter == "\\":
                yield self._escaped(), frozenset()
            else:
                yield (letter.lower() if letter not in ".^$" and letter.isascii() else ""), frozenset()

    def _group(self) -> Words:
        opened = _GROUP.match(self.source, self.at - 1)
        if opened is None or (opened.end() == self.at and self.source[self.at] == "?"):
            raise _Unclear  # conditions, and what later versions may bring
        self.at = opened.end()
        kind = opened["kind"] or ""
        looks = kind in ("=", "!", "<=", "<!")
        found = self.alternatives() if not kind.startswith(("P=", "#")) else frozenset()
        if self.source[self.at] != ")":
            raise _Unclear
        self.at += 1
        return frozenset() if looks else found

    def _skip_class(self) -> None:
        self.at += self.source[self.at] == "^"
        first = self.at
        while self.source[self.at] != "]" or self.at == first:
            self.at += 2 if self.source[self.at] == "\\" else 1
        self.at += 1

    def _escaped(self) -> str:
        letter = self.source[self.at]
        self.at += 1
        if letter.isascii() and letter.isalnum():
            if letter not in _CLASSES + _CONTROLS:
                raise _Unclear  # numbers of groups and of characters
            return ""
        return letter if letter.isascii() else ""

    def _least(self) -> int | None:
        """How often the item just read must come at least; 1 only where it comes exactly once."""
        sign = self.source[self.at : self.at + 1]
        count = _COUNT.match(self.source, self.at) if sign == "{" else None
        if sign and sign in "*?+":
            self.at += 1
            least = 2 if sign == "+" else 0
        elif count is not None and (count["least"] or count["more"]):
            self.at = count.end()
            least = 2 if int(count["least"] or 0) else 0
        else:
            return 1
        self.at += self.source[self.at : self.at + 1] in ("?", "+")
        return least


def _worth(words: Words) -> tuple[int, int, int]:
    shortest = min(map(len, words))
    return min(shortest, LONG), -len(words), shortest
