"""Two measured runs side by side that take turns at the edges of their windows: only one of them computes at a time.

What the machine does for a second or longer it then does to both, while runs one after the other each meet a different
machine. Who starts them makes a folder with two named pipes, `0` and `1`, and tells each which one is its own. The
second warms up for as many steps as the first did: from then on their batches are the same ones, step for step, and
what a batch costs (the time of a step differs twofold by what is in it) is no difference between the two.
"""

from __future__ import annotations

import os
import select
from pathlib import Path

from trainer.errors import TrainerError

VARIABLE = "TRAINER_TURNS"
"""FOLDER:NUMBER, set by who starts two runs. The first runs its warm-up alone, and says so by a file `warm`."""
PATIENCE = 120.0  # seconds: the other one starts, builds its model and warms up in the longest wait
LOOK = 0.5  # seconds between looks at whether everything was called off


class Turns:
    """This run's side. A byte in one's own pipe is the word to go; "e" says that the other one has ended."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder, self._first = folder, number == 0
        self._own, self._other = (
            os.open(folder / str(name), os.O_RDWR | os.O_NONBLOCK) for name in (number, 1 - number)
        )
        self._alone = False
        self._parts = 0

    def share_core(self) -> None:
        """Keep this thread on one core, the one that the other run takes too. For runs of one thread: cores of a shared
        machine differ for minutes, and each run would stay on its own (by 3.6 % of a step of 5M weights in 29 pairs; on
        one core by 1.9 % in 88).
        """
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

    def start(self) -> tuple[int, int] | None:
        """The first step is about to begin. The first run says so by a file `begun`; the second one waits until the
        first is warm, and is told its steps of warm-up and of a window, which become its own (None: nobody's)."""
        if self._first:
            (self._folder / "begun").touch()
            return None
        self._wait()
        if self._alone:
            return None
        steps, per_window = (self._folder / "warm").read_text("ascii").split()
        return int(steps), int(per_window)

    def warm(self, steps: int, per_window: int) -> None:
        """The warm-up is over after so many steps: wait until both are warm and it is this one's turn."""
        if self._first:
            draft = self._folder / "warm.draft"
            draft.write_text(f"{steps} {per_window}", "ascii")
            draft.rename(self._folder / "warm")  # whole, or not there
        os.write(self._other, b".")
        self._wait()

    def next(self) -> None:
        """A window is over: the other one's turn, then this one's again."""
        os.write(self._other, b".")
        self._wait()

    def after_part(self) -> None:
        """A part of a step is over: the other one's turn after every second one, and the first's begins with a single.

        So either one goes first in every other forward pass, backward pass and optimizer: who comes second finds the
        part's code in the cache.
        """
        self._parts += 1
        if self._parts % 2 == int(self._first):
            self.next()

    def end(self) -> None:
        """The last window is over. The first one waits for the other's last window, which its end would disturb."""
        if self._first:
            self.next()
        os.write(self._other, b"e")

    def _wait(self) -> None:
        waited = 0.0
        while not self._alone:
            if select.select([self._own], [], [], LOOK)[0]:
                self._alone = b"e" in os.read(self._own, 64)
                return
            waited += LOOK
            if (self._folder / "stop").exists() or waited > PATIENCE:
                raise TrainerError("stopped", "the run that this one took turns with is gone", "Run both again.")


def from_environment() -> Turns | None:
    """As the variable says; None for a run by itself. TrainerError where there are no such pipes."""
    folder, _, number = os.environ.get(VARIABLE, "").rpartition(":")
    if not folder:
        return None
    try:
        return Turns(Path(folder), int(number))
    except (OSError, ValueError) as error:
        raise TrainerError("bad-turns", f"{VARIABLE}={folder}:{number}: {error}", "Unset it.") from None
