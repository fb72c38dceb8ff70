"""Small files of /proc and /sys, below a root that tests can move."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import List, Optional


class Root:
    """The file system to read: ``/``, or a folder that holds a recorded machine."""

    def __init__(self, path: str = "/") -> None:
        self.base = path.rstrip("/")

    def path(self, path: str) -> str:
        return self.base + path if path.startswith("/") else path

    def text(self, path: str, limit: int = 1 << 20) -> Optional[str]:
        """The file's text without surrounding blanks; None when it cannot be read."""
        try:
            with open(self.path(path), "rb") as stream:
                return stream.read(limit).decode("utf-8", "replace").strip()
        except (OSError, ValueError):
            return None

    def number(self, path: str) -> Optional[int]:
        text = self.text(path, 64)
        try:
            return int(text) if text else None
        except ValueError:
            return None

    def names(self, path: str) -> List[str]:
        try:
            return sorted(os.listdir(self.path(path)))
        except OSError:
            return []

    def exists(self, path: str) -> bool:
        return os.path.exists(self.path(path))
