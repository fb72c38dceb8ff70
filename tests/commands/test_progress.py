from __future__ import annotations

import os
import signal

import pytest

from envdoctor.commands._progress import interrupted


def test_ctrl_c_is_answered_before_anything_is_cleared_away() -> None:
    before = signal.getsignal(signal.SIGINT)
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt), interrupted(said.append, "stopping"):
        os.kill(os.getpid(), signal.SIGINT)
    assert said == ["stopping"]
    assert signal.getsignal(signal.SIGINT) is before
