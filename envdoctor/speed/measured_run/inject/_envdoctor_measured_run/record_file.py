"""The record of one process on disk: whole at any moment, so that a killed run leaves what it had."""

from __future__ import annotations

import atexit
import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LEAST_PAUSE = 1.0  # seconds between two writes
COST = 0.002  # share of the time that writing may take


class RecordFile:
    """Writes records by exchange of a whole file; a folder that cannot be written stops the writing, nothing else."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._next = 0.0
        self._works = True

    def due(self) -> bool:
        """May another record be written already?"""
        return self._works and time.perf_counter() >= self._next

    def write(self, record: dict[str, Any]) -> None:
        if not self._works:
            return
        began = time.perf_counter()
        path = os.path.join(self._folder, f"run-{os.getpid()}.json")
        try:
            with open(path + ".tmp", "w", encoding="utf-8") as stream:
                json.dump(record, stream)
            os.replace(path + ".tmp", path)
        except (OSError, ValueError, TypeError):
            self._works = False
        spent = time.perf_counter() - began
        self._next = began + max(LEAST_PAUSE, spent / COST)

    def at_exit(self, record: Callable[[str], dict[str, Any]]) -> None:
        """Write the last record when the interpreter ends: by itself, by an exception, by Ctrl-C.

        No signal handler is set: one in Python would keep a process alive that hangs in a collective. A process that
        is killed leaves the record of its last window.
        """
        owner = os.getpid()

        def write_last() -> None:
            if os.getpid() == owner:
                raised = getattr(sys, "last_type", None)
                self.write(record(raised.__name__ if raised else "exit"))

        atexit.register(write_last)
        util = sys.modules.get("multiprocessing.util")
        if util is not None and sys.modules["multiprocessing.process"].parent_process() is not None:
            util.Finalize(None, write_last, exitpriority=0)  # such a child leaves without the interpreter's own end

    def forked(self) -> None:
        self._next = 0.0
