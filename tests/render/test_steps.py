"""Commands of one remedy are a sequence, others stand behind "or", and what only looks stands apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from envdoctor.knowledge.cuda_errors import START_ERRORS
from envdoctor.knowledge.errors import ERRORS
from envdoctor.knowledge.programs import PROGRAMS
from envdoctor.knowledge.slowness import COMPLAINTS, SITUATIONS
from envdoctor.render.looking import only_look
from envdoctor.render.page import laid_out
from envdoctor.render.steps import (
    FIXING,
    FOR_OTHERS,
    LOOKING,
    OR,
    TRYING,
    TRYING_FOR_OTHERS,
    USUAL,
    Block,
    Effect,
    blocks,
    effect,
    heading,
    undoes,
)
from envdoctor.render.text import text
from tests.render.checkups import checkup
from tests.render.test_sentences import judged

INSTALL = "python -m pip install foo"
REMOVE = "python -m pip uninstall -y foo"


def shown(*remedies: tuple[Sequence[str], Sequence[str]]) -> list[Block]:
    return list(blocks(remedies, FIXING, most=12))


def test_commands_of_one_remedy_are_a_sequence() -> None:
    assert shown(((REMOVE, INSTALL), ())) == [(FIXING, (REMOVE, INSTALL))]


def test_an_alternative_stands_behind_an_or() -> None:
    assert shown(((INSTALL,), (REMOVE,))) == [(FIXING, (INSTALL,)), (OR, (REMOVE,))]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (INSTALL, REMOVE),
        (REMOVE, INSTALL),
        ("python -m pip install 'foo<2'", "python -m pip install 'foo>=3'"),
        ("export A=1", "unset A"),
        ("export A=1", "export A=2"),
        ("uv pip install --torch-backend=cu126 'torch==2.9.*'", "uv pip install --torch-backend=auto 'torch==2.7.*'"),
    ],
)
def test_remedies_for_two_causes_that_undo_each_other_are_no_sequence(first: str, second: str) -> None:
    assert shown(((first,), ()), ((second,), ())) == [(FIXING, (first,)), (OR, (second,))]


@pytest.mark.parametrize(
    ("first", "second"), [(INSTALL, "python -m pip install bar"), ("export A=1", "export B=1"), (REMOVE, "uv venv .v")]
)
def test_remedies_that_go_together_stay_together(first: str, second: str) -> None:
    assert shown(((first,), ()), ((second,), ())) == [(FIXING, (first, second))]


def test_nothing_is_installed_twice() -> None:
    anew = (REMOVE, "python -m pip install --upgrade --no-cache-dir foo")
    assert shown((anew, ()), ((INSTALL,), ())) == [(FIXING, anew)]
    assert shown(((INSTALL,), ()), ((INSTALL,), ())) == [(FIXING, (INSTALL,))]


def test_looks_stand_apart_where_others_change_something() -> None:
    assert shown((("nvidia-smi", INSTALL), ())) == [(LOOKING, ("nvidia-smi",)), (FIXING, (INSTALL,))]
    assert shown(((INSTALL, "python -m pip check"), ())) == [(FIXING, (INSTALL,)), (LOOKING, ("python -m pip check",))]
    assert shown((("nvidia-smi",), (REMOVE,))) == [(LOOKING, ("nvidia-smi",)), (FIXING, (REMOVE,))]


def test_no_more_commands_than_asked_for() -> None:
    many = tuple(f"python -m pip install p{number}" for number in range(20))
    assert [len(block.commands) for block in blocks([(many, ())], FIXING, most=12)] == [12]


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("python -m pip install -r requirements.txt", Effect()),
        ("conda install -c conda-forge gxx=12", Effect(installs=frozenset({("gxx", "=12")}))),
        ("python -m pip uninstall -y a_b c", Effect(removes=frozenset({"a-b", "c"}))),
        ("unset A B", Effect(sets=frozenset({("A", ""), ("B", "")}))),
        ("python -m pip install 'unfinished", Effect()),
    ],
)
def test_what_a_command_leaves_behind(command: str, found: Effect) -> None:
    assert effect(command) == found


def sequences() -> Iterator[tuple[str, ...]]:
    for row in (*ERRORS, *START_ERRORS, *PROGRAMS, *SITUATIONS, *COMPLAINTS):
        yield row.commands
        yield getattr(row, "windows", ())


def test_no_remedy_of_the_tables_undoes_what_it_did() -> None:
    """But for what is removed in order to be installed anew."""
    wrong = []
    for commands in sequences():
        done = Effect()
        for command in commands:
            made = effect(command)
            if undoes(made, Effect(installs=done.installs, sets=done.sets)):
                wrong.append(commands)
            done = done.joined(made)
    assert not wrong


def test_a_look_is_never_called_a_fix() -> None:
    for commands in sequences():
        for block in blocks([(commands, ())], FIXING, most=99):
            assert {only_look([command]) for command in block.commands} <= {block.heading == LOOKING}


TORN = (
    "ImportError: /opt/venv/lib/python3.11/site-packages/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: undefined "
    "symbol: _ZN3c104cuda9SetDeviceEi\n"
)


@pytest.mark.parametrize("width", [40, 80, 100])
def test_no_line_break_gets_into_a_command_and_no_alternative_into_a_sequence(width: int) -> None:
    rows = [row.strip() for row in laid_out(text(judged(TORN)), width=width).splitlines()]
    build = next(row for row in rows if row.startswith("python -m pip install --force-reinstall"))
    assert build.endswith(("flash-attn'", "flash-attn"))
    assert rows[rows.index(build) + 1 :][:2] == ["or:", "python -m pip uninstall -y flash-attn"]


LIKELY = "RuntimeError: CUDA error: peer mapping resources exhausted"


def test_what_helps_against_a_usual_cause_is_said_as_no_more_than_that() -> None:
    found = judged(LIKELY)
    assert all(one.likely for one in found.diagnosis.findings)
    shown = laid_out(text(found))
    assert USUAL in shown
    assert FIXING not in shown
    assert "An error whose words alone say what is wrong" not in shown


def test_what_helps_against_a_proved_cause_is_said_plainly() -> None:
    assert not any(found.likely for found in checkup().diagnosis.findings)
    shown = laid_out(text(checkup()))
    assert FIXING in shown
    assert USUAL not in shown


@pytest.mark.parametrize(
    ("yours", "likely", "expected"),
    [(True, False, FIXING), (True, True, TRYING), (False, True, TRYING_FOR_OTHERS), (False, False, FOR_OTHERS)],
)
def test_headings(yours: bool, likely: bool, expected: str) -> None:
    assert heading(yours=yours, likely=likely) == expected
