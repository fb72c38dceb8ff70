"""The one error that people see: what is wrong, where exactly, and what to do about it."""

from __future__ import annotations

import os

_LONGEST = 2000  # characters of what a message quotes: a path, a value, a parser's own words


def shorten(text: str) -> str:
    """The text with its middle left out, where it is longer than anybody reads: others wrote what messages quote."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 200]} [...] {text[-200:]}"


class Trouble(Exception):
    """An expected failure. ``exit_code`` 2: bad usage or input; 3: the environment could not be examined or changed;
    126 and 127: a command to run that cannot be started, as shells have it.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | os.PathLike[str] | None = None,
        where: str = "",
        remedy: str = "",
        exit_code: int = 2,
    ) -> None:
        problem, where = shorten(problem), shorten(where)
        self.problem = problem
        self.file = None if file is None else os.fspath(file)
        self.where = where
        self.remedy = remedy
        self.exit_code = exit_code
        place = ", ".join(shorten(part) for part in (self.file, where) if part)
        super().__init__(f"{place}: {problem}" if place else problem)
        if remedy:
            self.__notes__ = [remedy]  # below the message of a traceback (PEP 678); Python 3.10 passes over them
