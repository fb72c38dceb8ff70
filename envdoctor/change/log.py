"""The log of one change: what was run and what it said, passwords struck out by whoever writes the line."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


class Log:
    """Appends lines to a file; a log that cannot be written must not stop a change that can."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def line(self, text: str) -> None:
        with contextlib.suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            with open(os.open(self.path, flags, 0o600), "a", encoding="utf-8", errors="replace") as file:
                file.write(text + "\n")
