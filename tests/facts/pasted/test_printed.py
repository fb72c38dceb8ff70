"""What code printed of torch is read as a fact, where it stands below the code that printed it."""

from __future__ import annotations

import pytest

from envdoctor.facts.model import Torch
from envdoctor.facts.pasted import read
from envdoctor.facts.pasted.printed import with_printed

_ASKED = (
    'python -c "import torch; print(torch.__version__); print(torch.version.cuda); print(torch.cuda.is_available())"'
)


@pytest.mark.parametrize("between", ["", "\n", "\n```\n", "\ngives\n", "\nIt prints:\n"])
def test_answers_below_a_command(between: str) -> None:
    facts = read(f"Training is slow.\n{_ASKED}{between}\n2.4.0+cpu\nNone\nFalse\n")
    assert isinstance(facts.torch, Torch)
    assert facts.torch.version == "2.4.0+cpu"


def test_answers_below_lines_that_print() -> None:
    told = with_printed(
        ["print(torch.__version__)", "print('cuda', torch.version.cuda)", "", "2.1.0+cu118", "cuda 11.8"]
    )
    assert told[3:] == ["torch.__version__: 2.1.0+cu118", "torch.version.cuda: 11.8"]


@pytest.mark.parametrize(
    "answers",
    [
        ["Traceback (most recent call last):", "2.1.0"],
        ["it works on another machine", "True"],
        [],
        ["", "", "", "", "", "", "prose"],
    ],
)
def test_what_is_no_answer_stays(answers: list[str]) -> None:
    lines = ["print(torch.__version__)", *answers]
    assert with_printed(lines) == lines


def test_an_answer_that_is_missing_ends_the_reading() -> None:
    lines = [
        "print(torch.__version__)",
        "print(torch.version.cuda)",
        "print(torch.cuda.is_available())",
        "2.1.0",
        "True",
    ]
    assert with_printed(lines)[3:] == ["torch.__version__: 2.1.0", "True"]


def test_other_code_is_passed_over() -> None:
    lines = ["print(x.shape)", "torch.Size([2, 3])", "print(torch.version.cuda)", "12.1"]
    assert with_printed(lines) == [*lines[:3], "torch.version.cuda: 12.1"]
