"""Being told to stop: not at all for the few milliseconds of a swap."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def hold_signals() -> Iterator[None]:
    """Hold stopping signals back; they arrive at the end."""
    before = leave_signals()
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_signals() -> set[signal.Signals | int]:
    """Take no stopping signal in this thread; the mask before. Every thread beside the main one begins with this: what
    the main thread holds back would be taken by the other, and stop the main one all the same."""
    return signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
