"""A function that judges answers, in a process of its own: it may be slow, loop for ever or die, and training goes on.

What runs there is a checker the user names, or Python's regular expressions, whose time can grow exponentially with
the text. Answers of the model are handed over as data and never executed. The child has no terminal, cannot write
into the trainer's output, ends itself with an alarm at the time limit (also if the trainer is gone by then), and leads
a process group, so that what it started ends with it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import multiprocessing
import os
import re
import signal
from pathlib import Path
from typing import Any, Callable

from trainer.errors import in_one_line

GRACE = 2.0  # seconds after which a child that ignores its alarm is killed
START = 60.0  # seconds a checker's module may take to import

Row = dict[str, Any]
Verdict = tuple[str, Any]  # ("accepted", bool), ("slow", None), or ("raised" | "died" | "not-loaded", text)


class Judge:
    """`judge(text, row)` in a child process, started when needed and again after each death. Close it at the end."""

    def __init__(self, source: str, seconds: float) -> None:
        self.source, self.seconds = source, seconds
        self._child: Any = None
        self._pipe: Any = None

    def start(self) -> str | None:
        """Start the child and load the checker; what went wrong, or None."""
        context = multiprocessing.get_context("spawn")  # a fork would copy torch's threads in an unknown state
        self._pipe, theirs = context.Pipe()
        self._child = context.Process(target=_serve, args=(theirs, self.source, self.seconds), daemon=True)
        self._child.start()
        theirs.close()
        kind, text = self._answer(START)
        if kind == "ready":
            return None
        self.close()
        return str(text) if text else f"not loaded within {START:.0f} s"

    def __call__(self, text: str, row: Row) -> Verdict:
        """What the checker says to one answer."""
        if self._child is None:
            fault = self.start()
            if fault is not None:
                return "not-loaded", fault
        with contextlib.suppress(OSError):  # the child is gone: reading tells how
            self._pipe.send((text, row))
        verdict = self._answer(self.seconds + GRACE)
        if verdict[0] in ("slow", "died"):
            self.close()
        return verdict

    def _answer(self, seconds: float) -> Verdict:
        if not self._pipe.poll(seconds):
            return "slow", None
        try:
            verdict: Verdict = self._pipe.recv()
        except (EOFError, OSError):
            code = self._end()
            return ("slow", None) if code == -signal.SIGALRM else ("died", f"it ended its process (exit code {code})")
        return verdict

    def close(self) -> None:
        """End the child and what it started."""
        if self._child is not None:
            self._end()

    def _end(self) -> int:
        """The same; the exit code of the child, negative for a signal.

        Its group is killed before anybody waits for it: until then its number is its own, and can be no stranger's.
        """
        self._pipe.close()
        try:
            os.killpg(self._child.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._child.kill()  # it had not come to lead a group yet
        self._child.join()
        code: int = self._child.exitcode
        self._child = self._pipe = None
        return code


def _serve(pipe: Any, source: str, seconds: float) -> None:
    os.setsid()
    empty = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(empty, stream)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the trainer decides what an interrupt means
    try:
        function = load(source)
    except BaseException as error:  # noqa: BLE001 - a user's module may raise anything; it is told to the user
        pipe.send(("not-loaded", _describe_error(error)))
        return
    pipe.send(("ready", None))
    while True:
        try:
            text, row = pipe.recv()
        except (EOFError, OSError):
            return
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            result: Verdict = ("accepted", function(text, row))
        except BaseException as error:  # noqa: BLE001 - see above
            result = ("raised", _describe_error(error))
        signal.setitimer(signal.ITIMER_REAL, 0)
        if result[0] == "accepted" and not isinstance(result[1], bool):
            result = ("raised", f"it returned {result[1]!r}, not True or False")
        pipe.send(result)


def load(source: str) -> Callable[[str, Row], bool]:
    """The function of "path.py:name", or the search for a regular expression "regex:COLUMN" of the row."""
    where, _, name = source.rpartition(":")
    if where == "regex":
        return lambda text, row: re.search(row[name], text) is not None
    specification = importlib.util.spec_from_file_location("checker", Path(where))
    if specification is None or specification.loader is None:
        raise ImportError(f"{where} is not a Python file")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    function: Callable[[str, Row], bool] = getattr(module, name)
    if not callable(function):
        raise TypeError(f"{name} is not a function")
    return function


def _describe_error(error: BaseException) -> str:
    return in_one_line(error, 300)
