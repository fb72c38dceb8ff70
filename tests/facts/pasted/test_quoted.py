"""A line in quotes that a program printed is read as its error; code in quotes is not."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            '"ERROR: Could not find a version that satisfies the requirement torch==1.8.2 (from versions: 2.0.0)."',
            "ERROR: Could not find a version that satisfies the requirement torch==1.8.2 (from versions: 2.0.0)",
        ),
        (
            '"OMP: Error #15: Initializing libiomp5md.dll, but found libiomp5md.dll already initialized."',
            "OMP: Error #15: Initializing libiomp5md.dll, but found libiomp5md.dll already initialized",
        ),
        ("\"Trainer\" object has no attribute 'use_ddp'", "'Trainer' object has no attribute 'use_ddp'"),
    ],
)
def test_a_line_in_quotes(line: str, said: str) -> None:
    messages = read(f"It stops, and I do not know why.\n\n{line}\n").messages
    assert any(said in message for message in messages)


def test_source_below_a_traceback_is_no_error() -> None:
    shown = 'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n    raise ValueError(\n'
    messages = read(f'{shown}        "This failed since the error was one of many kinds"\nValueError: no\n').messages
    assert not any(message.startswith("This failed") for message in messages)
