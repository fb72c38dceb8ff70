"""Who else wants this machine: CPU pressure, load and memory, read from /proc."""

from __future__ import annotations

import os
from typing import Any


def cpu_pressure() -> dict[str, float]:
    """/proc/pressure/cpu: avg10 (percent of the last 10 s in which some task waited) and total (microseconds); {}
    without PSI.
    """
    try:
        with open("/proc/pressure/cpu", encoding="ascii") as stream:
            for line in stream:
                kind, *pairs = line.split()
                if kind == "some":
                    return {key: float(value) for key, value in (pair.split("=") for pair in pairs)}
    except (OSError, ValueError):
        return {}  # no pressure information on this kernel: reported as absent
    return {}


class Contention:
    """What happened between two looks at the machine."""

    def __init__(self) -> None:
        self.before = cpu_pressure()
        self._span: dict[str, float] = {}
        self._since = 0.0

    def begin(self, now: float) -> None:
        """The measured span starts at `now` (seconds of time.perf_counter)."""
        self._span, self._since = cpu_pressure(), now

    def report(self, now: float) -> dict[str, Any]:
        """before: avg10 at the start; during: share of the span in which some task waited for a core; load: 1, 5, 15
        minutes.
        """
        after, during = cpu_pressure(), None
        if "total" in self._span and "total" in after and now > self._since:
            during = round((after["total"] - self._span["total"]) / 1e6 / (now - self._since), 4)
        load = list(os.getloadavg()) if hasattr(os, "getloadavg") else None
        return {"before": self.before.get("avg10"), "during": during, "load": load}
