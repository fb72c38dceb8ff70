"""Every measurement in order of value, within the minutes given; what is done already is not done again.

    python -m tests.benchmarks.gpu all --minutes 9 --output OUT/results.json [--resume EARLIER.json] [NAME ...]

Each runs in a process of its own, so that one that loses the device or hangs takes only its own time; it begins again
where it was, once. One table at the end: what was measured, how long it took, and where it failed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.gpu.__main__ import MEASUREMENTS
from tests.benchmarks.gpu.machine import ROOT
from tests.benchmarks.gpu.session import AGAIN, options, read, replace, say

# Minutes that each may take at full size, and those without which it is not begun: the sums of its attempts.
MINUTES: dict[str, tuple[float, float]] = {
    "agreement": (3.0, 0.7), "doctor": (3.0, 0.5), "probes": (1.0, 0.5), "trainer_speed": (6.0, 1.0),
    "rivals": (6.0, 1.5), "attention": (3.0, 1.0), "claims": (7.0, 1.0), "run_measure": (4.0, 1.5),
    "baselines": (8.0, 4.5),
}  # fmt: skip
GRACE = 20.0  # seconds after its minutes in which a measurement may end by itself


def main(arguments: Sequence[str]) -> int:
    """Run them; 0 when each gave at least one row."""
    parser = options("python -m tests.benchmarks.gpu all", __doc__ or "")
    parser.add_argument("names", nargs="*", metavar="NAME", help="these, in this order; default: every one")
    parser.add_argument("--resume", metavar="FILE", help="results of an earlier call to go on from")
    given = parser.parse_args(list(arguments))
    unknown = [name for name in given.names if name not in MEASUREMENTS]
    if unknown:
        parser.error("no such measurement: %s" % ", ".join(unknown))
    output = Path(given.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    if given.resume and not output.exists():
        shutil.copyfile(given.resume, output)
    ends = time.monotonic() + 60 * given.minutes
    outcome: dict[str, tuple[str, float]] = {}
    for name in given.names or MEASUREMENTS:
        most, least = MINUTES[name] if given.size == "full" else (10.0, 0.0)
        left = (ends - time.monotonic()) / 60 - GRACE / 60
        if left < least:
            outcome[name] = ("not begun: %.1f minutes left" % max(0.0, left), 0.0)
            continue
        say("\n#### %s: %s" % (name, MEASUREMENTS[name]))
        begun = time.monotonic()
        outcome[name] = (_measure(name, given, min(most, left)), time.monotonic() - begun)
        _note(output, outcome)
    _note(output, outcome)
    lines = summary(output, outcome)
    say("\n".join(["", "======== summary", *lines]))
    return int(any(word != "done" for word, _ in outcome.values()))


def _measure(name: str, given: Any, minutes: float) -> str:
    ends = time.monotonic() + 60 * minutes
    word = ""
    for attempt in range(2):
        left = (ends - time.monotonic()) / 60
        if attempt and left < 0.3:
            return word
        words = [sys.executable, "-u", "-m", "tests.benchmarks.gpu", name, "--size", given.size]
        words += ["--device", given.device, "--minutes", "%.2f" % left, "--output", given.output]
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
        child = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": path}, start_new_session=True)
        try:
            code = child.wait(timeout=60 * left + GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            return "stopped after %.1f minutes" % minutes
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        word = "done" if code == 0 else "nothing succeeded" if code == 1 else "ended with %d" % code
        if code in (0, 1):
            return word
        if code != AGAIN and code >= 0:
            return word  # neither the device was lost nor did a signal end it: it would end the same way again
    return word


def _note(output: Path, outcome: dict[str, tuple[str, float]]) -> None:
    whole = read(output)
    whole.setdefault("calls", [])
    if whole["calls"] and whole["calls"][-1].get("pid") == os.getpid():
        whole["calls"].pop()
    whole["calls"].append({"pid": os.getpid(), "outcome": {name: list(item) for name, item in outcome.items()}})
    replace(output, whole)


def summary(output: Path, outcome: dict[str, tuple[str, float]]) -> list[str]:
    """One line per measurement, then every table that the results hold."""
    whole = read(output)
    lines = ["%-14s %5s %6s %7s %8s  %s" % ("", "rows", "failed", "not run", "seconds", "this call")]
    for name in MEASUREMENTS:
        rows = list(whole.get(name, {}).get("rows", {}).values())
        failed, missing = (sum(1 for row in rows if key in row) for key in ("error", "not run"))
        word, seconds = outcome.get(name, ("not asked for", 0.0))
        lines.append("%-14s %5d %6d %7d %8.0f  %s" % (name, len(rows), failed, missing, seconds, word))
    for name in MEASUREMENTS:
        table = whole.get(name, {}).get("table", [])
        lines += ["", "-- %s" % name, *table] if table else []
    return lines
