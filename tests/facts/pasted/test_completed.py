"""What an error leaves out is taken from the code beside it, and from nowhere where that shows two answers."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.facts.pasted.completed import code_of, complete_message
from envdoctor.facts.pasted.page import Page

CALL = ["builder = RunBuilder(", "    model=model,", "    sizes=(1, len(rows)),", "    pieces=4,", ")"]
ARGUMENT = "TypeError: __init__() got an unexpected keyword argument 'pieces'"
NAMED = "TypeError: RunBuilder.__init__() got an unexpected keyword argument 'pieces'"


@pytest.mark.parametrize(
    "text", [ARGUMENT, "unexpected keyword argument pieces", "`unexpected keyword argument 'pieces'`"]
)
def test_the_class_that_code_passes_the_argument_to(text: str) -> None:
    assert complete_message(text, code_of(Page(CALL)), "") == NAMED


def test_the_class_on_the_line_that_failed() -> None:
    assert complete_message(ARGUMENT, "", "self.builder = plans.RunBuilder(") == NAMED
    missing = "TypeError: __new__() missing 1 required positional argument: 'task'"
    near = "self.score = scores.Exactness(rows=4)"
    assert complete_message(missing, "", near).startswith("TypeError: Exactness.__new__() missing 1")


def test_a_wrapper_passes_the_call_on() -> None:
    text = f"""\
Traceback (most recent call last):
  File "/home/u/train.py", line 4, in <module>
    runner = RunBuilder(
  File "/env/lib/python3.9/site-packages/plans/renamed.py", line 40, in wrapped
    return func(*args, **kwargs)
{ARGUMENT}
"""
    assert any(message.startswith(NAMED) for message in read(text).messages)


@pytest.mark.parametrize(
    ("text", "lines", "near"),
    [
        (ARGUMENT, [], "first = One(two=Two())"),
        (ARGUMENT, ["One(pieces=1)", "Two(pieces=2)"], ""),
        (ARGUMENT, ["builder = build(pieces=4)"], ""),
        ("TypeError: Other.__init__() got an unexpected keyword argument 'pieces'", CALL, ""),
        ("TypeError: build() got an unexpected keyword argument 'pieces'", CALL, ""),
        ("ImportError: cannot import name 'Piece' from 'plans'", ["from other import Piece"], ""),
        ("ImportError: cannot import name 'Piece'", ["from .other import Piece"], ""),
        ("ImportError: cannot import name 'Piece'", ["from one import Piece", "from two import Piece"], ""),
    ],
)
def test_what_is_said_or_cannot_be_told_stays(text: str, lines: list[str], near: str) -> None:
    assert complete_message(text, code_of(Page(lines)), near) == text


def test_the_module_that_a_name_is_imported_from() -> None:
    lines = ["----> 4 from plans.pieces import (Board,", "      5     Piece, Rule)"]
    said = complete_message("ImportError: cannot import name 'Piece'", code_of(Page(lines)), "")
    assert said == "ImportError: cannot import name 'Piece' from 'plans.pieces'"


def test_within_a_traceback() -> None:
    report = f'  File "/a/train.py", line 9, in main\n    self.builder = RunBuilder(\n{ARGUMENT}\n'
    assert NAMED in read(report).messages


def test_long_texts_are_read_in_a_moment() -> None:
    page = Page(["x = Call(" + "a=(" * 3_000 + "pieces=1"] * 30)
    assert complete_message(ARGUMENT, code_of(page), "") == ARGUMENT
