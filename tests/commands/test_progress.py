"""Ctrl-C is answered at once, and only where it is nobody else's."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from envdoctor.commands._progress import answer_interrupt


@pytest.fixture(autouse=True)
def python_s_own_answer() -> Iterator[None]:
    """What is started in the background of a shell ignores Ctrl-C, and so would these tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_is_answered_before_anything_is_cleared_away() -> None:
    before = signal.getsignal(signal.SIGINT)
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt), answer_interrupt(said.append, "stopping"):
        os.kill(os.getpid(), signal.SIGINT)
    assert said == ["stopping"]
    assert signal.getsignal(signal.SIGINT) is before


def test_who_ignores_ctrl_c_goes_on_ignoring_it() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    said: list[str] = []
    with answer_interrupt(said.append, "stopping"):
        os.kill(os.getpid(), signal.SIGINT)
    assert said == []
