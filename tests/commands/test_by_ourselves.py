"""envdoctor runs of its own modules, whatever hides the standard library's: it is there to tell of that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import envdoctor
from envdoctor.__main__ import by_ourselves
from tests.change.conftest import make_environment

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("module", ["json", "colorsys", "pathlib", "click", "rich", "tomllib", "dataclasses"])
@pytest.mark.parametrize("way", ["PYTHONPATH", "working directory"])
def test_modules_that_hide_others_are_told_of_and_not_run(tmp_path: Path, module: str, way: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / f"{module}.py").write_text("open('ran', 'w')\nraise SystemExit(77)\n")
    make_environment(tmp_path / "env")
    words = [sys.executable, "-m", "envdoctor", "check", "--no-torch", "--env", tmp_path / "env"]
    path = f"{folder}{os.pathsep}{ROOT}" if way == "PYTHONPATH" else str(ROOT)
    if way == "working directory":
        words[1:3] = ["-c", "from envdoctor.__main__ import main; main()"]
    environ = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, timeout=120)
    assert not (folder / "ran").exists()
    assert done.returncode in (0, 1, 3), done.stderr
    assert "internal error" not in done.stderr


def test_a_checkout_that_is_run_from_where_it_is_stays() -> None:
    home = str(Path(envdoctor.__file__).parents[1])  # the checkout, or the folder it was installed into
    given = f"/somewhere{os.pathsep}{home}"
    path = ["/working", "/somewhere", home, "/usr/lib/python3"]
    assert by_ourselves(path, given, "/working") == ["/usr/lib/python3", home]


def test_a_path_that_no_file_system_holds_is_told_in_a_line(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "envdoctor", "check", "--env", "/tmp/" + "/".join(["d" * 200] * 20)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "the path is too long for an environment: 4024 characters" in done.stderr
    assert len(done.stderr) < 400
