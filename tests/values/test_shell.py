"""Words of commands: what a shell reads is what was meant, and what is no name gets no command."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.values import shell


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))))
def test_a_word_stays_one_word(text: str) -> None:
    word = shell.word(text)
    read = shlex.split(f"echo {word}")
    assert read == ["echo", text]


def test_a_shortened_home_is_left_to_the_shell() -> None:
    assert shell.word("~/my env") == "~/'my env'"
    assert shell.word("~/env/bin/python") == "~/env/bin/python"
    assert shell.word("~x y") == "'~x y'"


@given(st.lists(st.text(min_size=1), min_size=1, max_size=3))
def test_only_names_get_into_commands(names: list[str]) -> None:
    command = shell.with_names("pip uninstall -y", *names)
    assert (command == "") == (not all(map(shell.is_name, names)))
    assert not command or shlex.split(command) == ["pip", "uninstall", "-y", *names]


@given(st.text(min_size=1))
def test_a_requirement_is_one_word_or_none(text: str) -> None:
    command = shell.with_requirements("pip install", text)
    assert not command or shlex.split(command) == ["pip", "install", text]


@pytest.mark.parametrize(
    "text",
    ["numpy<2", "torch==2.13.0+cu130", "torchvision==0.28.*", "a[b,c]>=1,<2", "flash-attn==2.8+cu12torch2.8", "a~=1.0"],
)
def test_requirements_stand_in_quotes(text: str) -> None:
    assert shell.with_requirements("pip install", text) == f"pip install '{text}'"


@pytest.mark.parametrize(
    "text", ["x'; touch y; '==1.0", "-r /etc/passwd", "x @ file:///y", "x==1;touch y", "x==$(y)", "", "x\n", "é", "x=="]
)
def test_what_is_no_requirement_gets_no_command(text: str) -> None:
    assert shell.with_requirements("pip install", text) == ""


def test_one_line_is_harmless_and_nothing_else() -> None:
    assert shell.harmless("python -m pip install 'x==1'")
    assert not any(map(shell.harmless, ("", "a\nb", "a\rb", "a\x1b[2Kb")))
