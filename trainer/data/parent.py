"""Worker processes end with the process that they work for, also where that one is killed.

Else a worker of a loader goes on for up to five seconds, until it looks after its parent, and holds what it has
inherited: the run's folder stays locked, and a run that is started again is refused.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def end_with(parent: int) -> None:
    """Kill this process as soon as its parent, of that number, is gone. Linux only: elsewhere nothing is done."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:  # it was gone before
        os.kill(os.getpid(), signal.SIGKILL)
