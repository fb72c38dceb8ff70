"""A line of source that raises tells what was printed, where nothing else in the text does."""

from __future__ import annotations

from envdoctor.facts.pasted import read


def test_its_strings_are_joined() -> None:
    facts = read('raise RuntimeError("Distributed package doesn\'t have NCCL " "built in")\n\nIt is Windows.\n')
    assert "RuntimeError: Distributed package doesn't have NCCL built in" in facts.messages


def test_what_python_printed_is_enough() -> None:
    frame = '  File "x.py", line 3, in f\n    raise RuntimeError("no kernel " "image")\n'
    text = f"Traceback (most recent call last):\n{frame}RuntimeError: no kernel image\n"
    assert sum(message.startswith("RuntimeError: no kernel image") for message in read(text).messages) == 1


def test_a_text_that_is_put_together_is_left_alone() -> None:
    facts = read('CUDA error\nraise RuntimeError(f"no {device} here")\n')
    assert not any("no {device}" in message and message.startswith("RuntimeError:") for message in facts.messages)
