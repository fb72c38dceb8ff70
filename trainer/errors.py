"""The one exception a user sees: what happened, and what to do about it."""

from __future__ import annotations

import errno
from typing import Any


def disk_remedy(error: BaseException, afterwards: str = "start again") -> str:
    """What helps against a file that could not be written: space only where it is space that lacks."""
    number, text = getattr(error, "errno", None), str(error)
    if number in (errno.ENOSPC, errno.EDQUOT) or "No space left" in text or "os error 28" in text:
        return f"Free some space, then {afterwards}."
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "Choose a folder that you may write to, or change its permissions."
    if number == errno.ENOENT:
        return "Something removed it meanwhile: is another program at work in that folder?"
    return f"Look after that folder, then {afterwards}."


def in_one_line(error: BaseException, longest: int | None = None) -> str:
    """The type of an exception that somebody else's code raised, and the first line of its text, so long at most."""
    first, _, _ = str(error).partition("\n")
    return f"{type(error).__name__}: {first[:longest]}"


class TrainerError(Exception):
    """A failure with a known cause.

    kind: short kebab-case name of the cause, stable across releases (the report carries it).
    remedy: what the user can do, one sentence.
    """

    def __init__(self, kind: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.remedy = remedy

    def __reduce__(self) -> tuple[Any, ...]:
        """All three texts survive pickling (worker processes hand errors over)."""
        return TrainerError, (self.kind, self.message, self.remedy)
