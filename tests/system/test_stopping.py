"""No process outlives its command: told to stop, or killed without a warning, envdoctor takes its children along."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envdoctor.system.stopping import stoppable
from tests.facts.probe.venvs import Venv

ROOT = Path(__file__).resolve().parents[2]
SLEEPS = "import os, time; open(os.environ['MARK'], 'w').write(str(os.getpid())); time.sleep(300)"
HANGS = f"__version__ = '2.9.0'\n{SLEEPS}\n"


def _alive(pid: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def _ended(pid: int) -> bool:
    last = time.monotonic() + 30
    while _alive(pid) and time.monotonic() < last:
        time.sleep(0.05)
    return not _alive(pid)


def _started(mark: Path) -> int:
    last = time.monotonic() + 60
    while time.monotonic() < last:
        if mark.is_file() and (text := mark.read_text()):
            return int(text)
        time.sleep(0.05)
    raise AssertionError("the child was not started")


def _as_from_a_terminal() -> None:
    """Whoever started the tests may ignore them: a job in the background, nohup."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the parent's death is told by Linux alone")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("command", ["check", "run"])
def test_nothing_is_left_running(tmp_path: Path, command: str, number: signal.Signals) -> None:
    venv = Venv(tmp_path / "env")
    venv.torch(HANGS)
    mark = tmp_path / "mark"
    words = {"check": ["check"], "run": ["run", "--target", "cpu"]}[command]
    argv = [sys.executable, "-m", "envdoctor", *words, "--env", str(venv.path)]
    if command == "run":
        argv += ["--", str(venv.python), "-c", SLEEPS]
    variables = {**os.environ, "MARK": str(mark), "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    child = subprocess.Popen(
        argv, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=_as_from_a_terminal,
    )  # fmt: skip
    grandchild = _started(mark)
    child.send_signal(number)
    if command == "run" and number == signal.SIGINT:
        os.kill(grandchild, signal.SIGINT)  # as a terminal does: the whole group gets it
    _, errors = child.communicate(timeout=60)
    assert _ended(grandchild), f"process {grandchild} is still there"
    if number == signal.SIGKILL:
        assert child.returncode == -9
    elif command == "check":
        assert child.returncode == 128 + number
        assert "nothing was left half done" in errors
        assert not list(tmp_path.glob("envdoctor-*")), "temporary folders are removed"
    else:
        assert child.returncode in (128 + number, 1), errors


SWALLOWED = """
import os, signal, sys, time
from envdoctor.system.stopping import stoppable

class Freed:
    def __del__(self):
        os.kill(os.getpid(), {number})

with stoppable():
    Freed()  # what the signal raises in here is lost
    for _ in range(100):
        time.sleep(0.05)
print("went on")
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, -2)])
def test_a_stop_that_a_destructor_swallowed_comes_again(number: signal.Signals, code: int) -> None:
    argv = [sys.executable, "-c", SWALLOWED.format(number=int(number))]
    done = subprocess.run(
        argv, cwd=ROOT, capture_output=True, text=True, timeout=60,
        preexec_fn=lambda: [signal.signal(each, signal.SIG_DFL) for each in (number, signal.SIGHUP)] and None,
    )  # fmt: skip
    assert done.stdout == ""
    assert done.returncode == code
    assert "ignored" not in done.stderr


WRAPPED = """
import os
from envdoctor.system.stopping import stoppable

class Field:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), {number})

with stoppable():
    class Made:
        field = Field()
print("went on")
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, -2)])
def test_a_stop_while_a_class_is_made_is_no_other_error(number: signal.Signals, code: int) -> None:
    """Before Python 3.12 whatever `__set_name__` raises comes out as a RuntimeError."""
    argv = [sys.executable, "-c", WRAPPED.format(number=int(number))]
    done = subprocess.run(
        argv, cwd=ROOT, capture_output=True, text=True, timeout=60,
        preexec_fn=lambda: [signal.signal(each, signal.SIG_DFL) for each in (number, signal.SIGHUP)] and None,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("", code)
    assert "RuntimeError" not in done.stderr


def test_an_error_with_another_cause_stays_as_it_is() -> None:
    with pytest.raises(RuntimeError, match="wrapped"), stoppable():
        raise RuntimeError("wrapped") from OSError("the disk")
    with pytest.raises(RuntimeError, match="wrapped"), stoppable():
        raise RuntimeError("wrapped") from SystemExit(2)
