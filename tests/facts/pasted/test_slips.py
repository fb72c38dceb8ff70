"""A known message with a slip in it is that message; prose, and a message that says something else, is none."""

from __future__ import annotations

import importlib.metadata
import itertools

import pytest

from envdoctor.facts.pasted import read, slips
from tests.rules.told import root

LIBUV = "use_libuv was requested but PyTorch was built without libuv"


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: use_libuv was requested but PyTorch was build without libuv support",
        "总是这样：RuntimeError: use_libuv was requested but PyTorch was biult without libuv，怎么办",
        "при запуске RuntimeError: use libuv was requested, but the PyTorch was built without libuv",
        "use_libuv is requested but pytorch was built without libuv",
    ],
)
def test_a_slip_is_seen_through(line: str) -> None:
    assert slips.known_sentence(line) == LIBUV


@pytest.mark.parametrize(
    "line",
    [
        f"RuntimeError: {LIBUV} support",  # letter by letter: the row sees it by itself
        "RuntimeError: use_libuv was requested and PyTorch was built with libuv",
        "RuntimeError: use_libuv was not requested but PyTorch was built without libuv",
        "PyTorch can be built with or without libuv, which was requested by many of its users",
        "use the library that was requested but built without tests",
    ],
)
def test_what_says_something_else_is_none(line: str) -> None:
    assert slips.known_sentence(line) is None


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("build", "built", True),
        ("launch", "launching", True),
        ("recieved", "received", True),
        ("supported", "unsupported", False),
        ("compatible", "incompatible", False),
        ("imported", "important", False),
        ("input", "output", False),
        ("cuda", "cudnn", False),
    ],
)
def test_words_that_are_one(one: str, other: str, alike: bool) -> None:
    assert slips._is_alike(one, other) is alike


def test_every_sentence_is_seen_with_a_letter_less() -> None:
    def with_a_slip(sentence: slips.Sentence) -> str:
        word = max((word for word in sentence.text.split() if word.isalpha()), key=len)
        return sentence.text.replace(word, word[:2] + word[3:], 1)

    sentences = slips._sentences()
    seen = [sentence for sentence in sentences if slips.known_sentence(with_a_slip(sentence)) is not None]
    assert len(sentences) > 300
    assert len(seen) >= 0.95 * len(sentences)


def test_the_descriptions_of_packages_hold_none() -> None:
    texts = (each.read_text("METADATA") or "" for each in importlib.metadata.distributions())
    lines = itertools.chain.from_iterable(text.partition("\n\n")[2].splitlines() for text in texts)
    wrong = {line: said for line in itertools.islice(lines, 20_000) if (said := slips.known_sentence(line))}
    assert not wrong


def test_the_finding_quotes_the_line_as_it_stands() -> None:
    line = "RuntimeError: use_libuv was requested but PyTorch was build without libuv support"
    found = root(line)
    assert found.subject == "USE_LIBUV"
    assert line in found.message
    assert "built without" not in found.message.partition(": ")[2]


def test_a_persons_own_words_warn() -> None:
    said = "it says that use_libuv is requested but pytorch was build without libuv and then it fails"
    assert root(said).severity is not None
    assert root(said).severity.name == "WARNING"


def test_long_lines_are_read_in_a_moment() -> None:
    assert slips.known_sentence("requested libuv built without " * 5_000) is None
    assert read("Error: " + "requested libuv pytorch " * 5_000).messages
