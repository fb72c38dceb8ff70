"""The look before a search lets through every text in which the search would find something."""

from __future__ import annotations

import random
import re
import string
import sys

import pytest

from envdoctor.knowledge.errors import ERRORS, HINTS
from envdoctor.values.literals import branches, required_literals, small
from envdoctor.values.pattern import Pattern
from tests.facts.pasted.mutations import REPORTS, mutated
from tests.facts.pasted.ramps import written


def possible(source: str, text: str) -> bool:
    words = required_literals(source)
    return not words or any(word in small(text) for word in words)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("foo|bar", {"foo", "bar"}),
        ("(?i)Foo", {"foo"}),
        ("foo|b?", set()),  # the second matches in nothing
        ("ab?cdef", {"cdef"}),
        ("abcd+e", {"abcd"}),
        ("abc{0,3}", {"ab"}),
        ("abc{,3}", {"ab"}),
        ("abc{2}", {"abc"}),
        ("a{b}", {"a{b}"}),
        ("(?:abc)?de", {"de"}),
        ("(?:abc|de)f", {"abc", "de"}),  # longer words are rarer
        ("(?:abcd|efgh)f", {"abcd", "efgh"}),
        ("(?=abc)d", {"d"}),
        ("(?<!abc)d", {"d"}),
        ("[abc]d", {"d"}),
        ("[]a]d[^]a]", {"d"}),
        (r"foo\.bar\d", {"foo.bar"}),
        (r"a\x41bcd", set()),  # numbers of characters are not read
        (r"(a)bc\1", set()),
        ("(a)?(?(1)b|c)", set()),
        ("(?P<n>ab)(?P=n)c", {"ab"}),
        ("(?#abc)d", {"d"}),
        ("é", set()),
        ("a(?-i:B)", {"a"}),
        ("", set()),
    ],
)
def test_words_of_an_expression(source: str, words: set[str]) -> None:
    assert set(required_literals(source)) == words


def test_every_character_that_is_taken_for_a_letter_is_read_as_that_letter() -> None:
    letters = re.compile("[a-z]", re.IGNORECASE)
    taken = [chr(code) for code in range(sys.maxunicode + 1) if letters.match(chr(code))]
    assert len(taken) > 52  # the sign of kelvin and the long s are among them
    for character in taken:
        as_letters = {letter for letter in string.ascii_lowercase if re.match(letter, character, re.IGNORECASE)}
        assert as_letters == {small(character)}


def test_random_expressions_find_what_they_found_without_the_look() -> None:
    draw = random.Random(7)
    found = 0
    for _ in range(6_000):
        source = expression(draw, 3)
        flags = draw.choice((0, re.IGNORECASE, re.DOTALL))
        plain, looking = re.compile(source, flags), Pattern(source, flags)
        for _ in range(6):
            text = "".join(draw.choice("abcAB.{1 \nſK") for _ in range(draw.randint(0, 9)))
            whole, seen = plain.search(text), looking.search(text)
            assert (whole and whole.span()) == (seen and seen.span()), (source, text)
            assert (whole is not None) == looking.is_in(text), (source, text)
            assert [one.span() for one in plain.finditer(text)] == [one.span() for one in looking.finditer(text)]
            assert plain.sub("-", text) == looking.sub("-", text)
            found += whole is not None and bool(required_literals(source))
    assert found > 1_000  # with words to look for: the test is about something


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("a|b", ("a", "b")),
        ("", ("",)),
        ("a|", ("a", "")),
        (r"(?:a|b)c|[|]d|\|e", ("(?:a|b)c", "[|]d", r"\|e")),
        ("(?i)a|b", ("(?i)a|b",)),
        (r"(?P<one>a)|(?P=one)b", (r"(?P<one>a)|(?P=one)b",)),
        (r"(a)|\1b", (r"(a)|\1b",)),
        ("(a|b", ("(a|b",)),
    ],
)
def test_alternatives_of_an_expression(source: str, parts: tuple[str, ...]) -> None:
    assert branches(source) == parts


def expression(draw: random.Random, depth: int) -> str:
    """A random expression; every kind of item that the tables use."""
    branch = "".join(item(draw, depth) for _ in range(draw.randint(1, 4)))
    return f"{branch}|{expression(draw, depth - 1)}" if depth and draw.random() < 0.25 else branch


def item(draw: random.Random, depth: int) -> str:
    kind = draw.randrange(6 if depth else 4)
    if kind == 0:  # these are not repeated
        return draw.choice((r"\b", "^", "$", "(?#ab)"))
    if kind == 5:
        return f"{draw.choice(('(?=', '(?!'))}{expression(draw, depth - 1)})"
    if kind == 4:
        plain = f"{draw.choice(('(?:', '(', '(?i:'))}{expression(draw, depth - 1)})"
    elif kind == 3:
        plain = draw.choice(("[ab]", "[^a]", "[]a]", r"[\]b]", r"\.", r"\d", r"\s", r"\{", "."))
    else:
        plain = draw.choice("abcABKkſ{")
    return plain + draw.choice(("", "", "", "?", "*", "+", "{2}", "{0,1}", "{,2}", "{1,2}?", "??"))


def test_the_doctors_own_expressions_pass_over_no_line() -> None:
    sources = {source for _, source, flags, _ in written() if not flags & re.VERBOSE}
    sources |= {row.said for row in (*ERRORS, *HINTS)}
    texts = {line for report in REPORTS for line in report.split("\n") if line.strip()}
    lines = sorted(random.Random(3).sample(sorted(texts), 400)) + [mutated(seed)[:2_000] for seed in range(60)]
    assert sum(bool(required_literals(source)) for source in sources) > len(sources) / 2
    for source in sources:
        plain = re.compile(source, re.IGNORECASE)
        for line in lines:
            if not possible(source, line):
                assert plain.search(line) is None, (source, line)


def test_any_case_holds_for_each_alternative() -> None:
    pattern = Pattern(r"(?i)out of shared memory|Bus Error \(core dumped\)")
    for text in ("OUT OF SHARED MEMORY", "bus error (core dumped)"):
        assert pattern.search(text)
        assert pattern.is_in(text)
