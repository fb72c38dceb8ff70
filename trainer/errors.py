"""The one exception a user sees: what happened, and what to do about it."""

from __future__ import annotations

from typing import Any, Tuple


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

    def __reduce__(self) -> Tuple[Any, ...]:
        """All three texts survive pickling (worker processes hand errors over)."""
        return TrainerError, (self.kind, self.message, self.remedy)
