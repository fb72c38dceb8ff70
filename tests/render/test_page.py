from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from envdoctor.commands._output import say
from envdoctor.render.page import CODES, IN_FILES, Line, command, laid_out, line, terminal

WORDS = st.text(alphabet="ab -→.", max_size=60)
SPANS = st.lists(st.tuples(WORDS, st.sampled_from(["", "bold", "dim", "bold red"])), max_size=6)


@given(spans=SPANS, width=st.integers(20, 80), indent=st.integers(0, 10))
def test_nothing_is_lost_and_no_row_is_wider(spans: list[tuple[str, str]], width: int, indent: int) -> None:
    made = laid_out([Line(spans, indent)], width=width)
    assert all(len(row) <= max(width, 20 + indent) for row in made.splitlines())
    assert "".join(made.split()) == "".join("".join(text for text, _ in spans).split())


@given(spans=SPANS, width=st.integers(20, 80))
def test_colour_changes_nothing_but_colour(spans: list[tuple[str, str]], width: int) -> None:
    painted = laid_out([Line(spans)], width=width, colour=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == laid_out([Line(spans)], width=width)


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("", 20, [""]),
        ("one two", 20, ["one two"]),
        ("a word at the very end", 20, ["a word at the very", "end"]),
        ("x" * 45, 20, ["x" * 20, "x" * 20, "x" * 5]),
        ("exactly twenty chars", 20, ["exactly twenty chars"]),
        ("kept    spaces", 20, ["kept    spaces"]),
    ],
)
def test_wrapping(text: str, width: int, rows: list[str]) -> None:
    assert laid_out([line(text)], width=width) == "".join(f"{row}\n" for row in rows)


@pytest.mark.parametrize("width", [20, 80, 200])
def test_a_command_is_one_row_at_any_width(width: int) -> None:
    long = "python -m pip install --force-reinstall --no-deps --no-cache-dir --no-build-isolation 'flash-attn==2.7.4'"
    assert laid_out([command(long, "bold", 4)], width=width) == f"    {long}\n"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            "Hold it against an environment: envdoctor verify --against locked",
            ["Hold it against an environment:", "envdoctor verify --against locked"],
        ),
        ("it is no command of ours where pip stands", ["it is no command of ours where pip", "stands"]),
        ("names it (python -m pip show torch names it)", ["names it (python -m pip show torch", "names it)"]),
        (
            "see envdoctor verify --against locked --target a-name-that-is-longer",
            ["see envdoctor verify --against", "locked --target", "a-name-that-is-longer"],
        ),
    ],
)
def test_a_command_in_a_sentence_holds_together_where_there_is_room(text: str, rows: list[str]) -> None:
    assert laid_out([line(text)], width=36).splitlines() == rows


def test_words_of_two_styles_stay_together() -> None:
    spans = (("a long first part of eighteen ", ""), ("bold", "bold"), (".", "dim"))
    assert laid_out([Line(spans)], width=33) == "a long first part of eighteen\nbold.\n"
    assert laid_out([Line((("a", "bold"), ("b", "bold")))], colour=True) == f"\x1b[{CODES['bold']}mab\x1b[0m\n"


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("shown", "variables", "colour"),
    [
        (True, {"TERM": "xterm"}, True),
        (True, {"TERM": "dumb"}, False),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (False, {"TERM": "xterm"}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "0"}, False),
    ],
)
def test_colour_only_on_terminals_that_have_it(shown: bool, variables: dict[str, str], colour: bool) -> None:
    width, coloured = terminal(Screen() if shown else io.StringIO(), variables)
    assert coloured is colour
    assert shown or width == IN_FILES


def test_what_commands_say_holds_commands_together_too() -> None:
    console = Console(file=io.StringIO(), width=50)
    say(console, "Go back to what was there before with envdoctor undo --env /srv/environments/train and look again")
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert "envdoctor undo --env /srv/environments/train" in printed
    assert all(len(row) <= 50 for row in printed.splitlines())
