"""Importing torch: the real one, and eight that are sick in their own way."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from envdoctor.facts import collect, torch_section
from envdoctor.facts.model import Flag, Torch, Unavailable
from envdoctor.system import process
from tests.facts.probe.venvs import Venv

ROOT = Path(__file__).resolve().parents[3]
FLAGS = ROOT / "trainer" / "flags.py"
SCRIPT = ROOT / "envdoctor" / "facts" / "probe" / "torch_state.py"


def ask(
    python: Path | str, folder: Path, *arguments: str, deadline: float = 60.0
) -> tuple[Torch | Unavailable, list[str]]:
    """What the facts say of torch after a run of the probe, as `collect` runs it."""
    answer = folder / "answer.json"
    isolation = ["-E", "-B", "-X", "faulthandler"]
    clean = collect.child_variables(os.environ)
    child = process.Child([python, *isolation, SCRIPT, answer, *arguments], deadline=deadline, env=clean)
    outcome = child.wait()
    child.kill()  # and whatever it has started
    lines = [json.loads(line) for line in answer.read_text().splitlines()] if answer.exists() else []
    return torch_section.section(outcome, lines)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Torch:
    told, notes = ask(sys.executable, tmp_path_factory.mktemp("torch"), str(FLAGS))
    assert isinstance(told, Torch), told
    assert notes == []
    return told


@pytest.mark.torch
def test_the_real_torch_tells_of_itself(real: Torch) -> None:
    code = (
        "import torch, json; print(json.dumps([torch.__version__, torch.version.cuda or '', torch.get_num_threads()]))"
    )
    version, cuda, threads = json.loads(process.run([sys.executable, "-c", code], deadline=60).out)
    assert (real.version, real.cuda, real.threads) == (version, cuda, threads)
    assert real.numpy == ""
    assert real.hook == ""
    assert real.cpu_capability
    assert real.import_seconds
    assert any("gomp" in path or "omp" in path for path in real.libraries)


@pytest.mark.torch
def test_flags_are_read_through_the_trainer_s_table(real: Torch) -> None:
    assert real.flags["float32-matmul-precision"] == Flag(value="highest")
    assert real.flags["cudnn-benchmark"] == Flag(value="false")
    assert set(real.flags["sdp"].value.split(",")) >= {"flash", "math"}  # type: ignore[union-attr]


def test_a_flag_that_cannot_be_read_says_why(tmp_path: Path, venv: Venv) -> None:
    table = tmp_path / "flags.py"
    table.write_text(
        "def read_all(torch):\n    return {'a': {'error': 'RuntimeError: mix of APIs'}, 'b': ['x', 'y']}\n"
    )
    venv.torch(FAKE)
    told, _ = ask(venv.python, tmp_path, str(table))
    assert isinstance(told, Torch)
    assert told.flags == {"a": Flag(error="RuntimeError: mix of APIs"), "b": Flag(value="x,y")}


@pytest.mark.parametrize("text", [None, "syntax error(", "x = 1", "def read_all(torch): raise OSError(5)"])
def test_without_a_usable_table_flags_are_unknown(text: str | None, tmp_path: Path, venv: Venv) -> None:
    venv.torch(FAKE)
    if text is not None:
        (tmp_path / "flags.py").write_text(text)
    told, notes = ask(venv.python, tmp_path, str(tmp_path / "flags.py"))
    assert isinstance(told, Torch)
    assert told.flags == {}
    assert any("flags table" in note for note in notes)


# The least that has the shape of torch; whatever else is asked of it is missing.
FAKE = """\
__version__ = "2.9.0"
class version:
    cuda = "12.8"; git_version = "abc"; debug = False
"""

SICK = {
    "absent": (None, "absent", "torch is not installed"),
    "raises": ("raise ImportError('libcudnn.so.9: cannot open shared object file')", "crashed", "libcudnn.so.9"),
    "exits": ("import sys; sys.exit('gone')", "crashed", "SystemExit: gone"),
    "aborts": ("import os, sys; print('terminate called', file=sys.stderr); os.abort()", "crashed", "SIGABRT"),
    "segfaults": ("import ctypes; ctypes.string_at(0)", "crashed", "SIGSEGV"),
    "exits silently": ("import os; os._exit(0)", "crashed", "the process ended itself (exit code 0)"),
    "exits with 3": ("import os; os._exit(3)", "crashed", "exit code 3"),
    "is killed": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "crashed", "SIGKILL (killed from outside"),
    "hangs": ("import time; time.sleep(600)", "timed-out", "no answer within 2 s"),
    "needs a missing package": ("import typing_extensions_gone", "crashed", "No module named 'typing_extensions_gone'"),
    "is no Python": ("def broken(:", "crashed", "SyntaxError"),
}


@pytest.mark.parametrize("name", SICK)
def test_a_sick_torch_is_unavailable_with_the_precise_reason(name: str, venv: Venv, tmp_path: Path) -> None:
    source, why, reason = SICK[name]
    if source is not None:
        venv.torch(source)
    told, _ = ask(venv.python, tmp_path, deadline=2 if name == "hangs" else 60)
    assert isinstance(told, Unavailable)
    assert told.why == why
    assert reason in told.reason
    assert name == "absent" or told.reason.startswith("import torch: ")


def test_a_crash_names_the_python_line_that_ran(venv: Venv, tmp_path: Path) -> None:
    venv.torch("import ctypes\nctypes.string_at(0)\n")
    told, messages = ask(venv.python, tmp_path)
    assert isinstance(told, Unavailable)
    assert "Segmentation fault" in told.reason
    assert "ctypes" in told.reason
    assert any("Segmentation fault" in message for message in messages)


@pytest.mark.parametrize(("theirs", "waited"), [(None, "4"), ("26", "26")])
def test_threads_of_numpy_do_not_wait_in_a_busy_loop(
    theirs: str | None, waited: str, venv: Venv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if theirs is not None:
        monkeypatch.setenv("OPENBLAS_THREAD_TIMEOUT", theirs)
    venv.torch(FAKE.replace('"abc"', '__import__("os").environ["OPENBLAS_THREAD_TIMEOUT"]'))
    told, _ = ask(venv.python, tmp_path)
    assert isinstance(told, Torch)
    assert told.git == waited
    answer = [json.loads(line) for line in (tmp_path / "answer.json").read_text().splitlines()]
    assert answer[0]["environ"] == {}, "and nobody takes it for what the environment's own start has set"


def test_noise_does_no_harm(venv: Venv, tmp_path: Path) -> None:
    noise = "import sys, os\nprint('x' * 1_000_000)\nsys.stderr.write('y' * 5_000_000)\nos.write(1, b'{}\\n' * 9)\n"
    venv.torch(noise + FAKE)
    told, _ = ask(venv.python, tmp_path)
    assert isinstance(told, Torch)
    assert told.version == "2.9.0"


def test_a_torch_that_forks_is_not_waited_for(venv: Venv, tmp_path: Path) -> None:
    fork = "import os, time\nif os.fork() == 0:\n    time.sleep(600)\n    os._exit(0)\n"
    venv.torch(fork + FAKE)
    told, _ = ask(venv.python, tmp_path, deadline=30)
    assert isinstance(told, Torch)


def test_what_was_read_before_a_crash_in_cuda_is_kept(venv: Venv, tmp_path: Path) -> None:
    cuda = "class cuda:\n    @staticmethod\n    def is_available():\n        import os; os.abort()\n"
    venv.torch(FAKE + cuda)
    told, notes = ask(venv.python, tmp_path, "", "device")
    assert isinstance(told, Torch)
    assert (told.version, told.cuda, told.cuda_available) == ("2.9.0", "12.8", False)
    assert told.cuda_error is not None
    assert told.cuda_error.startswith("initialising CUDA: SIGABRT")
    assert told.cuda_error in notes


def test_why_cuda_is_not_available(venv: Venv, tmp_path: Path) -> None:
    cuda = """
import warnings
class cuda:
    @staticmethod
    def is_available():
        warnings.warn("CUDA initialization: The NVIDIA driver on your system is too old (found version 12080).")
        return False
    @staticmethod
    def device_count():
        return 0
    @staticmethod
    def init():
        raise RuntimeError("The NVIDIA driver on your system is too old")
"""
    venv.torch(FAKE + cuda)
    told, _ = ask(venv.python, tmp_path, "", "device")
    assert isinstance(told, Torch)
    assert told.cuda_available is False
    assert told.cuda_error is not None
    assert "found version 12080" in told.cuda_error


def test_without_a_device_cuda_is_left_alone(venv: Venv, tmp_path: Path) -> None:
    venv.torch(FAKE + "class cuda:\n    @staticmethod\n    def is_available():\n        raise SystemExit(9)\n")
    told, _ = ask(venv.python, tmp_path)
    assert isinstance(told, Torch)
    assert (told.cuda_available, told.device_count, told.cuda_error) == (False, 0, None)


def test_secrets_in_what_torch_says_are_redacted(venv: Venv, tmp_path: Path) -> None:
    venv.torch("raise ImportError('https://me:hunter22@host/x token=abcdef123456789')")
    told, notes = ask(venv.python, tmp_path)
    assert isinstance(told, Unavailable)
    assert "hunter22" not in str((told, notes))
    assert "abcdef123456789" not in str((told, notes))


def test_the_environment_is_not_written_to(venv: Venv, tmp_path: Path) -> None:
    venv.torch(FAKE)
    before = sorted(str(path) for path in venv.path.rglob("*"))
    ask(venv.python, tmp_path)
    assert sorted(str(path) for path in venv.path.rglob("*")) == before
