"""Being told to stop by a scheduler or a closed terminal: as by Ctrl-C, with everything cleared away on the way out."""

from __future__ import annotations

import contextlib
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
    printed and lost; the signal is then sent again. One that it raises while a class is made comes out as the cause of
    another error (of `__set_name__`, before Python 3.12), and is taken out of it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: FrameType | None) -> None:
        for each in stopping:
            signal.signal(each, signal.SIG_IGN)  # once is enough: a second one must not cut the clearing short
        raise SystemExit(128 + number)

    def lost(what: sys.UnraisableHookArgs) -> None:
        number = _signal_behind(what.exc_value)
        if number is None or number not in (signal.SIGINT, *stopping):
            show(what)
            return
        if number in stopping:
            signal.signal(number, stop)
        threading.Thread(target=_send_again, args=(number,), daemon=True).start()

    stopping = (signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else (signal.SIGTERM,)
    before = {number: signal.getsignal(number) for number in stopping}
    for number, handler in before.items():
        if handler is signal.SIG_DFL:  # one that is ignored (nohup) or handled by somebody stays so
            signal.signal(number, stop)
    show, sys.unraisablehook = sys.unraisablehook, lost
    try:
        yield
    except Exception as error:
        cause = _cause(error)
        if _signal_behind(cause) in (signal.SIGINT, *stopping):
            raise cause from None
        raise
    finally:
        sys.unraisablehook = show
        for number, handler in before.items():
            signal.signal(number, handler)


def _cause(error: BaseException) -> BaseException:
    """The first of the errors that were raised from one another."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _signal_behind(exception: BaseException | None) -> int | None:
    if isinstance(exception, KeyboardInterrupt):
        return signal.SIGINT
    code = exception.code if isinstance(exception, SystemExit) else None
    return code - 128 if isinstance(code, int) else None


def _send_again(number: int) -> None:
    """To the main thread, a moment later: whatever swallowed the first one is over by then.

    To the process it could be delivered to this very thread, which would not wake a main thread that waits."""
    time.sleep(0.01)
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, number)
    else:
        signal.raise_signal(number)
