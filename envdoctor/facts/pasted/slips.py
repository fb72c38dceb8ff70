"""A known message that stands in a text with a slip: a letter less, another form of a word, a word left out.

People type messages off a screenshot, programs mend a word from one release to the next, and rows of errors know a
sentence letter by letter. What makes it that sentence stays: every number and every "not", most of its words, and
their order.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterator

from envdoctor.facts.model import AS_TOLD, IN_OTHER_WORDS
from envdoctor.facts.pasted.completed import whole_sentences
from envdoctor.facts.pasted.draft import Draft
from envdoctor.facts.pasted.wording import TOOLS_WORDS
from envdoctor.knowledge.errors import ERRORS
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern

_WORD = re.compile(r"[A-Za-z]+|\d+")
_SHORTENED = (
    (re.compile(r"[\u2018\u2019`\u00b4]"), "'"),
    (re.compile(r"\b(?:can't|can not|cant)\b", re.IGNORECASE), "cannot"),
    (re.compile(r"\b(is|was|are|were|do|does|did|could|would|should|has|have)n'?t\b", re.IGNORECASE), r"\1 not"),
)
_SMALL = frozenset(
    "a an the this that these those is are was were be been being am of to in on for with from by at as and or it its "
    "your you we i my do does did has have had will would should could can may must".split()
)
"""They come and go without changing what is said."""
_TURNS = frozenset("not no non without never cannot only un less more older newer".split())
"""One of them more or less, and it is another message."""
_LEAST_WORDS, _LEAST_TELLING, _LEAST_LETTERS = 5, 4, 26
_WORDS_A_SLIP = 5
_MOST_WORDS = 400
_FAR = 9
"""More than any slip costs."""
_RAISED = Pattern(r"(?:^|[^\w.])(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception)\b ?:|^\W{0,4}ERROR\b")


@frozen
class Sentence:
    """One that a row knows letter by letter; ``anchors`` are those of its words that fewest others have."""

    text: str
    words: tuple[str, ...]
    anchors: frozenset[str]

    @property
    def slips(self) -> int:
        """How many it may have, and still be that sentence."""
        return min(3, len(self.words) // _WORDS_A_SLIP)


def read(draft: Draft) -> None:
    """Give every line that has a known message with a slip, and no known one, the message as it is known."""
    given: set[str] = set()
    for line in tuple(draft.messages):
        sentence = known_sentence(line)
        if sentence is not None and sentence not in given and not any(row.pattern.search(line) for row in ERRORS):
            given.add(sentence)
            draft.message(f"{sentence} [{IN_OTHER_WORDS if _RAISED.search(line) else AS_TOLD}{line}]")


def known_sentence(line: str) -> str | None:
    """The sentence that the line holds with a slip or two; None where it holds none, or one letter by letter."""
    words = _words(line)
    if not _LEAST_WORDS - 1 <= len(words) <= _MOST_WORDS:
        return None
    there = frozenset(words)
    near = ((_distance(each, words), each) for each in _candidates(there))
    costs = [(cost, -len(each.words), each.text) for cost, each in near if cost <= each.slips]
    if not costs:
        return None
    _, _, text = min(costs)
    return None if text.lower() in line.lower() else text


def _words(text: str) -> tuple[str, ...]:
    for pattern, other in _SHORTENED:
        text = pattern.sub(other, text)
    return tuple(_WORD.findall(text.lower()))


def _candidates(there: frozenset[str]) -> Iterator[Sentence]:
    index = _index()
    seen = Counter(number for word in there for number in index.get(word, ()))
    sentences = _sentences()
    return (sentences[number] for number, times in seen.items() if times >= 2)  # a slip may have hit one of the three


@functools.cache
def _sentences() -> tuple[Sentence, ...]:
    """What rows and the wording of complaints know whole, and of which the words tell enough."""
    of_rows = (sentence for row in ERRORS for sentence in whole_sentences(row.said))
    words = {text: _words(text) for text in itertools.chain(of_rows, TOOLS_WORDS)}
    kept = {text: each for text, each in words.items() if text.count(" ") > 2 and _tells_enough(each)}
    often = Counter(word for each in kept.values() for word in set(each))

    def rarest(each: tuple[str, ...]) -> frozenset[str]:
        telling = sorted(set(filter(_is_telling, each)), key=lambda word: (often[word], -len(word), word))
        return frozenset(telling[:3])

    return tuple(Sentence(text=text, words=each, anchors=rarest(each)) for text, each in kept.items())


@functools.cache
def _index() -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, sentence in enumerate(_sentences()):
        for word in sentence.anchors:
            found.setdefault(word, []).append(number)
    return found


def _is_telling(word: str) -> bool:
    return word not in _SMALL and word not in _TURNS and len(word) > 2


def _tells_enough(words: tuple[str, ...]) -> bool:
    telling = set(filter(_is_telling, words))
    return (
        len(words) >= _LEAST_WORDS
        and len(telling) >= _LEAST_TELLING
        and sum(map(len, telling)) >= _LEAST_LETTERS
        and all(word.isascii() for word in words)
    )


def _distance(sentence: Sentence, words: tuple[str, ...]) -> int:
    """The slips between the sentence and the part of the words that is most like it."""
    before = [0] * (len(words) + 1)  # it may begin anywhere
    for wanted in sentence.words:
        row = [before[0] + _without(wanted)]
        for place, word in enumerate(words):
            row.append(
                min(before[place] + _instead(wanted, word), before[place + 1] + _without(wanted), row[-1] + _more(word))
            )
        before = row
    return min(before)


def _without(word: str) -> int:
    if word in _SMALL:
        return 1
    return _FAR if word in _TURNS or word.isdigit() else 2


_more = _without


def _instead(wanted: str, word: str) -> int:
    if wanted == word:
        return 0
    if wanted in _TURNS or word in _TURNS or wanted.isdigit() or word.isdigit():
        return _FAR
    if wanted in _SMALL and word in _SMALL:
        return 1
    return 1 if _is_alike(wanted, word) else _FAR


@functools.lru_cache(maxsize=10_000)
def _is_alike(one: str, other: str) -> bool:
    """Is it the same word with a letter wrong, or in another form ("build", "built"; "loaded", "loading")?"""
    if min(len(one), len(other)) < 4 or abs(len(one) - len(other)) > 3:
        return False
    if one.endswith(other) or other.endswith(one):  # "compatible", "incompatible"
        return False
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    if same >= 4 and one[same:] in _ENDINGS and other[same:] in _ENDINGS:
        return True
    return _letters_apart(one, other) <= (1 if min(len(one), len(other)) < 8 else 2)


_ENDINGS = frozenset(["", "s", "es", "e", "ed", "d", "ing", "ion", "ions"])


def _letters_apart(one: str, other: str) -> int:
    """Letters put in, left out, changed, or two exchanged."""
    rows = [list(range(len(other) + 1))]
    for place, letter in enumerate(one, 1):
        row = [place]
        for column, against in enumerate(other, 1):
            cost = min(rows[-1][column] + 1, row[-1] + 1, rows[-1][column - 1] + (letter != against))
            if place > 1 and column > 1 and letter == other[column - 2] and one[place - 2] == against:
                cost = min(cost, rows[-2][column - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]
