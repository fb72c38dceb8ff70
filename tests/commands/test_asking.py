"""Nothing changes without a yes: asked on a terminal, refused where nobody can be asked."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envdoctor import doctor
from envdoctor.change.proposal import ChangeOptions, Proposal
from envdoctor.doctor import Repaired
from envdoctor.facts.environment import locate
from envdoctor.rules.checkup import CheckOptions, Checkup
from tests.change.conftest import World, make_world, snapshot, write_target

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def fix(tmp_path: Path) -> tuple[World, list[str]]:
    world = make_world(tmp_path / "world", "env")
    path = write_target(world, tmp_path / "locks")
    words = ["fix", "--target", str(path), "--env", str(world.environment), "--select", "packages"]
    return world, [sys.executable, "-m", "envdoctor", *words]


VARIABLES = {**os.environ, "UV_OFFLINE": "1", "PIP_NO_INDEX": "1", "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize("typed", ["", "n\n", "y\n"], ids=["closed", "no", "yes"])
def test_a_pipe_can_say_nothing(fix: tuple[World, list[str]], typed: str) -> None:
    world, argv = fix
    before = snapshot(world.environment)
    done = subprocess.run(argv, input=typed, capture_output=True, text=True, timeout=60, env=VARIABLES)
    assert done.returncode == 2, done.stderr
    assert "1.0 → 2.0" in done.stderr, "the plan is shown all the same"
    assert "nobody to ask" in done.stderr
    assert "--yes" in done.stderr
    assert "bug" not in done.stderr
    assert snapshot(world.environment) == before


@pytest.mark.parametrize(("typed", "code", "version"), [("n", 130, "1.0"), ("y", 0, "2.0")])
def test_a_terminal_is_asked(fix: tuple[World, list[str]], typed: str, code: int, version: str) -> None:
    world, argv = fix
    leader, follower = pty.openpty()
    child = subprocess.Popen(argv, stdin=follower, stdout=follower, stderr=follower, env=VARIABLES, close_fds=True)
    os.close(follower)
    said = _until(leader, "Make this change?")
    os.write(leader, f"{typed}\n".encode())
    said += _until(leader, None)
    assert child.wait(timeout=60) == code, said
    os.close(leader)
    assert world.version("alpha") == version


class Slow:
    """Says yes, after a while."""

    wait = 1.5

    def step(self, text: str) -> None: ...
    def tell(self, text: str) -> None: ...
    def checked(self, checkup: Checkup, repaired: Repaired | None) -> None: ...

    def agree(self, proposal: Proposal) -> bool:
        time.sleep(self.wait)
        return True

    def stopping(self, text: str) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


def test_the_time_that_somebody_takes_to_answer_is_not_counted(
    fix: tuple[World, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    world, argv = fix
    options = CheckOptions(target=argv[argv.index("--target") + 1], select=("packages",), torch=False)
    started = time.monotonic()
    repaired = doctor.fix(locate(world.environment), options, ChangeOptions(), Slow())
    assert repaired.applied is not None
    assert repaired.seconds <= time.monotonic() - started - Slow.wait


def _until(leader: int, word: str | None) -> str:
    """What the terminal shows until ``word`` is there, or to its end."""
    said, last = "", time.monotonic() + 60
    while time.monotonic() < last and (word is None or word not in said):
        if select.select([leader], [], [], 0.2)[0]:
            try:
                data = os.read(leader, 4096)
            except OSError:  # the other side is gone
                break
            if not data:
                break
            said += data.decode("utf-8", "replace")
    return said
