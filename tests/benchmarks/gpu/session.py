"""One measurement's run: its deadline, its attempts of which any may fail, and the file that keeps every row at once.

All measurements share one results file, a section each. A row that is there already is not measured again, so that
the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from tests.benchmarks.gpu import machine

Row = dict[str, Any]
AGAIN = 75  # exit code: the device no longer answers this process; a new process goes on (EX_TEMPFAIL)
# After these the CUDA context is lost: every further call of this process fails.
STICKY = ("illegal memory access", "device-side assert", "unspecified launch failure", "misaligned address")


class DeviceLost(Exception):
    """The CUDA context of this process is unusable."""


class Session:
    """`attempt` measures one row; `facts` are kept beside the rows. `full` is False at toy size."""

    def __init__(
        self, name: str, size: str, device: torch.device, minutes: float, output: Path, only: Sequence[str] = ()
    ) -> None:
        self.name, self.full, self.device, self.output, self.only = name, size == "full", device, output, tuple(only)
        self.ends = time.monotonic() + 60 * minutes
        self.rows: dict[str, Row] = {}
        self.facts: dict[str, Any] = {}
        self.lines: list[str] = []
        known = read(output).get(name, {})
        if known.get("size") == size and known.get("device") == str(device.type):
            self.rows, self.facts = known.get("rows", {}), known.get("facts", {})
        self._head = {"size": size, "device": device.type, "begun": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}

    @classmethod
    def from_arguments(cls, name: str, about: str, arguments: Sequence[str]) -> Session:
        """Parse the options that all measurements share."""
        parser = options("python -m tests.benchmarks.gpu " + name, about)
        parser.add_argument("--only", nargs="*", default=[], metavar="WORD", help="rows whose name holds one of these")
        given = parser.parse_args(list(arguments))
        device = torch.device(given.device if given.device != "auto" else machine.default_device())
        return cls(name, given.size, device, given.minutes, Path(given.output), given.only)

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self.ends - time.monotonic()

    def pick(self, toy: Any, full: Any) -> Any:
        """The value for this size."""
        return full if self.full else toy

    def attempt(self, name: str, call: Callable[[], Row], seconds: float = 0.0) -> Row | None:
        """The row of `call`, kept at once; one that fails is kept with its error, and one whose time (`seconds`, at
        full size) is not left is kept as not run. DeviceLost when nothing more can be measured here.
        """
        if self.only and not any(word in name for word in self.only):
            return None
        known = self.rows.get(name)
        if known is not None and "not run" not in known:
            return known if "error" not in known else None
        if self.left < (seconds if self.full else 0.0):
            self.keep(name, {"not run": "%.0f s were left of the %.0f it takes" % (max(0.0, self.left), seconds)})
            return None
        begun = time.monotonic()
        try:
            row = call()
        except Exception as error:  # one variant that fails must not take the others down
            text = "%s: %s" % (type(error).__name__, str(error).split("\n")[0][:300])
            self.keep(name, {"error": text, "took": round(time.monotonic() - begun, 2)})
            say("  %-38s failed: %s" % (name, text[:120]))
            if any(word in str(error) for word in STICKY):
                raise DeviceLost(text) from error
            return None
        finally:
            self._release()
        self.keep(name, {**row, "took": round(time.monotonic() - begun, 2)})
        return row

    def _release(self) -> None:
        gc.collect()
        if self.device.type == "cuda":
            try:
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
            except RuntimeError:
                return  # the context is lost; the attempt says so itself

    def keep(self, name: str, row: Row) -> None:
        """Keep a row in the results file."""
        self.rows[name] = row
        self.write()

    def write(self) -> None:
        """The section as it stands, into the results file, which is replaced whole."""
        whole = read(self.output)
        whole[self.name] = {**self._head, "facts": self.facts, "rows": self.rows, "table": self.lines}
        replace(self.output, whole)

    def table(self, lines: Sequence[str]) -> None:
        """The short table of this measurement: printed and kept."""
        self.lines = list(lines)
        self.write()
        say("\n".join(["", "== %s" % self.name, *self.lines]))

    def run(self, measure: Callable[[Session], None]) -> int:
        """Measure; the exit code is 0, 1 when nothing succeeded, or AGAIN."""
        self.facts["machine"] = machine.describe(self.device)
        code = 0
        try:
            measure(self)
        except DeviceLost:
            code = AGAIN
        self.facts["after"] = machine.clocks(self.device)
        self.write()
        good = [row for row in self.rows.values() if "error" not in row and "not run" not in row]
        return code or int(bool(self.rows) and not good)


def why(row: Row, width: int = 90) -> str:
    """Why a row has no figures, cut to `width`."""
    return str(row.get("error") or row.get("not run") or "")[:width]


def options(program: str, about: str) -> argparse.ArgumentParser:
    """What every measurement takes."""
    parser = argparse.ArgumentParser(prog=program, description=about.split("\n")[0])
    parser.add_argument("--size", choices=("toy", "full"), default="full")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda")
    parser.add_argument("--minutes", type=float, default=9.0, help="nothing is begun that would take longer")
    parser.add_argument("--output", default="results.json", help="results file, shared by all measurements")
    return parser


def read(path: Path) -> dict[str, Any]:
    """The results file; {} when there is none yet."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return found


def replace(path: Path, content: dict[str, Any]) -> None:
    """Write `content` as JSON at `path` in one rename: a kill leaves the earlier file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=str(path.parent), delete=False, encoding="utf-8") as stream:
        json.dump(content, stream, indent=1, default=str)
    os.chmod(stream.name, 0o644)
    os.replace(stream.name, path)


def say(text: str) -> None:
    """To the terminal, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
