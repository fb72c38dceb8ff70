"""Being told to stop by a scheduler or a closed terminal: as by Ctrl-C, with everything cleared away on the way out."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """SIGTERM and SIGHUP (a scheduler's cancel, a closed terminal) end the command as Ctrl-C does, by SystemExit with
    128 + signal: what was begun is cleared away and every child is ended, instead of being left behind.

    An exception that a signal raises inside a destructor or a callback of a weak reference (importing has some) is
    printed and lost; the signal is then sent again."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: FrameType | None) -> None:
        for each in stopping:
            signal.signal(each, signal.SIG_IGN)  # once is enough: a second one must not cut the clearing short
        raise SystemExit(128 + number)

    def lost(what: sys.UnraisableHookArgs) -> None:
        code = what.exc_value.code if isinstance(what.exc_value, SystemExit) else None
        if isinstance(what.exc_value, KeyboardInterrupt):
            threading.Thread(target=_send_again, args=(signal.SIGINT,), daemon=True).start()
        elif isinstance(code, int) and code - 128 in stopping:
            signal.signal(code - 128, stop)
            threading.Thread(target=_send_again, args=(code - 128,), daemon=True).start()
        else:
            show(what)

    stopping = (signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else (signal.SIGTERM,)
    before = {number: signal.getsignal(number) for number in stopping}
    for number, handler in before.items():
        if handler is signal.SIG_DFL:  # one that is ignored (nohup) or handled by somebody stays so
            signal.signal(number, stop)
    show, sys.unraisablehook = sys.unraisablehook, lost
    try:
        yield
    finally:
        sys.unraisablehook = show
        for number, handler in before.items():
            signal.signal(number, handler)


def _send_again(number: int) -> None:
    """To ourselves, a moment later: whatever swallowed the first one is over by then."""
    time.sleep(0.01)
    os.kill(os.getpid(), number)
