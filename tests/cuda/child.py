"""The parent's end of a child on the device that is not there."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.cuda.environment import Environment
from tests.cuda.setups import SetUp

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 1800  # of one set-up on a busy machine


class Child:
    """A Python of the kept environment that runs set-ups, one after the other. `project`: whose trainer it runs;
    `libraries`: folders of further packages.
    """

    def __init__(
        self, environment: Environment, folder: Path, project: Path = ROOT, libraries: Sequence[Path] = ()
    ) -> None:
        self.folder = folder
        self._log = (folder / "child.log").open("w+", encoding="utf-8")
        self._child = subprocess.Popen(
            [str(environment.python), "-m", "tests.cuda.steps", str(folder)], cwd=project,
            env=environment.variables(project, ROOT, *libraries), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._log,
        )  # fmt: skip
        self._told = b""

    def run(self, set_up: SetUp) -> dict[str, Any]:
        """The child's answer. AssertionError with what it last said when there is none."""
        assert self._child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.write(json.dumps(set_up.as_json()).encode() + b"\n")
            self._child.stdin.flush()
        answer: dict[str, Any] = json.loads(self._line())
        return answer

    def _line(self) -> bytes:
        assert self._child.stdout is not None
        while b"\n" not in self._told:
            ready, _, _ = select.select([self._child.stdout], [], [], SECONDS)
            more = os.read(self._child.stdout.fileno(), 1 << 20) if ready else b""
            if not more:
                self.close()
                self._log.seek(0)
                said = self._log.read()[-3000:]
                raise AssertionError(("the child has ended\n" if ready else "the child does not answer\n") + said)
            self._told += more
        line, _, self._told = self._told.partition(b"\n")
        return line

    @property
    def works(self) -> bool:
        """Can it be asked?"""
        return self._child.poll() is None

    def close(self) -> None:
        """End it."""
        self._child.kill()
        self._child.wait()
