"""Which line of the user's code a part of the step is spent in: a look at the training thread, 20 times a second."""

from __future__ import annotations

import os
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PERIOD = 0.05  # seconds between looks; one look takes about 20 microseconds
MOST = 200  # different lines that are remembered


class Lines:
    """Counts of (part, file, line, function), sampled in a thread of its own until the process ends."""

    def __init__(self, part: Callable[[], str]) -> None:
        self._part = part
        self._counts: dict[tuple[str, str, int, str], int] = {}
        self._quiet = threading.Lock()  # held while the process forks, so that no look is cut in two
        self._watched = 0
        self._libraries = _libraries()

    def start(self, thread: int) -> None:
        """Begin to look at ``thread``."""
        self._watched = thread
        threading.Thread(target=self._look_for_ever, name="envdoctor-lines", daemon=True).start()

    def fork_begins(self) -> None:
        self._quiet.acquire()

    def fork_ended(self) -> None:
        self._quiet.release()

    def reset(self) -> None:
        """In a forked process: its parent's counts are not its own, and the thread has stayed behind."""
        self._counts = {}
        self._quiet = threading.Lock()
        self._watched = 0

    def found(self) -> list[list[Any]]:
        """[part, file, line, function, looks], most looks first; files relative to the working directory."""
        rows = sorted(self._counts.items(), key=lambda item: -item[1])
        return [[part, _short(file), line, name, count] for (part, file, line, name), count in rows[:40]]

    def _look_for_ever(self) -> None:
        watched = self._watched
        while self._watched == watched:
            time.sleep(PERIOD)
            with self._quiet:
                frame = sys._current_frames().get(watched)
                if frame is not None:
                    self._look(frame)
                del frame  # a frame kept alive would keep the user's tensors alive

    def _look(self, frame: Any) -> None:
        """The innermost frame that is neither Python's nor an installed library's."""
        while frame is not None:
            file = frame.f_code.co_filename
            if not file.startswith("<") and not file.startswith(self._libraries):
                key = (self._part(), file, frame.f_lineno, frame.f_code.co_name)
                if key in self._counts or len(self._counts) < MOST:
                    self._counts[key] = self._counts.get(key, 0) + 1
                return
            frame = frame.f_back


def _libraries() -> tuple[str, ...]:
    here = os.path.dirname(os.path.abspath(__file__))
    standard = os.path.dirname(os.path.abspath(os.__file__))
    installed = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")]
    return tuple(folder + os.sep for folder in [here, standard, *installed])


def _short(file: str) -> str:
    try:
        near = os.path.relpath(file)
    except (OSError, ValueError):
        return file
    return file if near.startswith("..") else near
