"""Sides of a comparison as processes that live side by side and take turns: only one of them computes at a time.

A process starts up and warms up once, then works in slices of a second or more whenever it is told to. So a round of
all sides takes seconds instead of minutes, and what the machine does to one side it does to all of them.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT = 900  # seconds a side may take to warm up or for one slice
Slice = dict[str, Any]  # wall and cpu seconds, steps, and sums of what the steps counted


class Turns:
    """The working side: call `step` after every optimizer step, and end when it says so.

    Each slice is whole steps and at least `seconds` long. Its CPU time is that of this process with all its threads.
    """

    def __init__(self, order: Mapping[str, Any], facts: dict[str, Any] | None = None) -> None:
        self._inbox = os.fdopen(int(order["inbox"]), "r")
        self._outbox = os.fdopen(int(order["outbox"]), "w")
        self._left, self._seconds = int(order["warmup_steps"]), float(order["seconds"])
        self.facts: dict[str, Any] = facts if facts is not None else {}
        self._sums: dict[str, float] = {}
        self._steps, self._wall, self._cpu = 0, 0.0, 0.0
        self.settle: Callable[[], None] = _nothing  # work left in the background ends within the slice that began it

    def step(self, **counts: float) -> bool:
        """Note one step that worked on `counts`; waits here for the next turn when a slice is over. True: end."""
        if self._left > 0:
            self._left -= 1
            return self._left == 0 and self._handed_over({"ready": self.facts})
        self._steps += 1
        for name, value in counts.items():
            self._sums[name] = self._sums.get(name, 0.0) + value
        if time.perf_counter() - self._wall < self._seconds:
            return False
        self.settle()
        wall = time.perf_counter() - self._wall
        cpu = time.process_time() - self._cpu
        return self._handed_over({"slice": {"wall": wall, "cpu": cpu, "steps": self._steps, **self._sums}})

    def end(self, facts: Mapping[str, Any]) -> None:
        """What is known after the last step."""
        self._send({"end": dict(facts)})

    def _handed_over(self, message: Mapping[str, Any]) -> bool:
        self._send(message)
        word = self._inbox.readline().strip()
        self._steps, self._sums = 0, {}
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return word != "go"  # also when the other end is gone

    def _send(self, message: Mapping[str, Any]) -> None:
        self._outbox.write(json.dumps(message) + "\n")
        self._outbox.flush()


def _nothing() -> None:
    return None


class Side:
    """The directing side's view of one process. SystemExit with the end of its log when it died."""

    def __init__(self, name: str, python: str, module: str, order: Mapping[str, Any], folder: Path) -> None:
        self.name, self.folder = name, folder
        self.slices: list[Slice] = []
        self.facts: dict[str, Any] = {}
        self._command, self._order = [python, "-m", module, str(folder / "order.json")], order
        self._process: subprocess.Popen[bytes] | None = None

    def ready(self) -> None:
        """Start it, and wait until it is warm. One at a time: several that warm up at once take ten times as long."""
        self.folder.mkdir(parents=True, exist_ok=True)
        inbox, self._to = os.pipe()
        out, outbox = os.pipe()
        full = {**self._order, "inbox": inbox, "outbox": outbox, "folder": str(self.folder)}
        (self.folder / "order.json").write_text(json.dumps(full), encoding="utf-8")
        with open(self.folder / "log.txt", "wb") as log:
            self._process = subprocess.Popen(
                self._command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=(inbox, outbox), env={**os.environ, "PYTHONPATH": str(ROOT), **QUIET},
            )  # fmt: skip
        os.close(inbox)
        os.close(outbox)
        self._reader = os.fdopen(out, "r")
        self.facts.update(self._heard("ready"))

    def turn(self) -> Slice:
        """One slice."""
        os.write(self._to, b"go\n")
        self.slices.append(self._heard("slice"))
        return self.slices[-1]

    def end(self) -> None:
        """Let it end and hear its last facts."""
        os.write(self._to, b"end\n")
        self.facts.update(self._heard("end"))
        if self._process is not None:
            self._process.wait(timeout=60)
        self.close()

    def close(self) -> None:
        """Stop it, whatever it does; calling twice does no harm, nor before it was started."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._reader.close()
        if self._to >= 0:
            os.close(self._to)
            self._to = -1

    def _heard(self, kind: str) -> dict[str, Any]:
        answered = select.select([self._reader], [], [], LIMIT)[0]  # one line per question: nothing waits in the buffer
        line = self._reader.readline() if answered else ""
        if not line:
            self.close()
            log = (self.folder / "log.txt").read_text(encoding="utf-8", errors="replace")
            raise SystemExit("%s ended before its time:\n%s" % (self.name, log[-3000:]))
        message: dict[str, Any] = json.loads(line)
        if kind not in message:
            raise SystemExit("%s said %s instead of %r" % (self.name, list(message), kind))
        found: dict[str, Any] = message[kind]
        return found


# Nothing is looked up on the network, and no progress bar writes into the timing.
QUIET = {
    "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false",
    "TQDM_DISABLE": "1", "TRANSFORMERS_VERBOSITY": "error", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}  # fmt: skip


def interleave(sides: list[Side], rounds: int, say: Any) -> None:
    """Warm up all `sides`, let them take turns, back and forth, and end them. None is left behind on failure."""
    try:
        for side in sides:
            side.ready()
        for number in range(rounds):
            for side in sides if number % 2 == 0 else sides[::-1]:
                say(number, side, side.turn())
        for side in sides:
            side.end()
    finally:
        for side in sides:
            side.close()
