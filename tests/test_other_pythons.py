"""What is claimed of Pythons and systems that the rest of the tests do not run on.

CPython 3.10, 3.12 and 3.13 are run for real by `python -m tests.pythons`. Of Python 3.14 a registry has CPython
compiled to WebAssembly, which starts no processes, but reads, judges and writes (``-m install``; needs node and npm).
All else is checked and not run: the grammar of 3.10 for every file; the standard library of 3.10 to 3.14, and of macOS,
as typeshed has them (``-m slow``).
"""

from __future__ import annotations

import ast
import functools
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from envdoctor.system import process

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted(path for part in ("envdoctor", "trainer") for path in (ROOT / part).rglob("*.py"))
ABSENT = ("tomli", "tomllib")  # of which 3.10 installs the one and later Pythons bring the other
PYODIDE = "pyodide@314.0.7"
PURE = "click markdown_it mdurl packaging pygments pynvml rich tomli_w yaml".split()
REPORT = """torch 2.6.0+cpu
numpy 2.4.0
RuntimeError: A module that was compiled using NumPy 1.x cannot be run in NumPy 2.4.0 as it may crash.
"""
COMMANDS = [
    ["--version"],
    ["diagnose", "{folder}/report.txt", "--format", "json"],
    ["check", "--facts", "{root}/tests/facts/machines/nvidia-h200.json", "--format", "json"],
    ["check", "--facts", "{root}/tests/facts/machines/nvidia-h200.json", "--format", "sarif"],
    ["check", "--facts", "{root}/tests/facts/machines/cpu-virtual-machine.json", "--format", "markdown"],
    ["fleet", "{root}/tests/facts/machines"],
    ["targets", "--format", "json"],
    ["explain", "precision/float32-matmul"],
    ["rules", "--format", "json"],
    ["ci", "github", "--target", "h100", "--source", "git+https://git.example/envdoctor@v1"],
    ["check", "--ignore", "torch/import-fial", "--facts", "{root}/tests/facts/machines/nvidia-h200.json"],
]
IN_PYTHON = """
import contextlib, io, json, sys
sys.dont_write_bytecode = True
from envdoctor import cli
told = []
for words in json.loads(open(sys.argv[1]).read()):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.run(words)
    told.append([words, code, out.getvalue(), err.getvalue()])
open(sys.argv[2], "w").write(json.dumps([sys.version.split()[0], told]))
"""
IN_NODE = """
import { loadPyodide } from "pyodide";
const python = await loadPyodide();
for (const place of process.argv.slice(2, 5)) {
  python.FS.mkdirTree(place);
  python.FS.mount(python.FS.filesystems.NODEFS, { root: place }, place);
}
python.globals.set("places", process.argv.slice(2));
await python.runPythonAsync(`
import sys
root, site, folder = list(places)
sys.path[:0] = [root, site]
sys.argv = ["x", folder + "/commands.json", folder + "/newest.json"]
exec(open(folder + "/program.py").read())
`);
"""


def test_every_file_is_in_the_grammar_of_the_oldest_python() -> None:
    assert len(FILES) > 700
    for path in FILES:
        ast.parse(path.read_text("utf-8"), str(path), feature_version=(3, 10))


@functools.cache
def errors(version: str, platform: str) -> tuple[str, ...]:
    """What mypy says of the code under another Python or system, without line numbers."""
    words = ["--python-version", version, "--platform", platform, "--no-warn-unreachable", "--no-error-summary"]
    outcome = process.run([sys.executable, "-m", "mypy", *words, "envdoctor", "trainer"], deadline=900, cwd=ROOT)
    lines = [line for line in outcome.out.splitlines() if ": error: " in line]
    return tuple(re.sub(r":\d+: error: ", ": ", line) for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.10", "3.12", "3.13", "3.14"])
def test_every_name_is_in_the_standard_library_of(version: str) -> None:
    known = tuple(f'module named "{name}"' for name in ABSENT)
    assert [line for line in errors(version, "linux") if not any(one in line for one in known)] == []


@pytest.mark.slow
def test_only_what_runs_on_linux_alone_uses_names_that_macos_lacks() -> None:
    """Each stands behind a look at the system; a name more is a mistake until it is looked at."""
    assert sorted(errors("3.14", "darwin")) == [
        'envdoctor/change/clone.py: Module has no attribute "copy_file_range"  [attr-defined]',
        'envdoctor/change/clone.py: Module has no attribute "listxattr"  [attr-defined]',
        'envdoctor/system/process.py: Module has no attribute "F_SETSIG"  [attr-defined]',
        'trainer/measure/turns.py: Module has no attribute "sched_getaffinity"  [attr-defined]',
    ]


@pytest.mark.install
@pytest.mark.skipif(shutil.which("npm") is None, reason="no npm")
def test_python_3_14_says_what_this_one_says(tmp_path: Path) -> None:
    """The same commands, word for word the same answers."""
    site, folder = tmp_path / "site", tmp_path / "folder"
    site.mkdir()
    folder.mkdir()
    for name in PURE:
        place = Path(__import__(name).__file__ or "")
        place = place.parent if place.name == "__init__.py" else place
        if place.is_dir():
            shutil.copytree(place, site / place.name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        else:
            shutil.copy2(place, site)
    (folder / "report.txt").write_text(REPORT)
    (folder / "program.py").write_text(IN_PYTHON)
    (folder / "run.mjs").write_text(IN_NODE)
    commands = [[word.format(root=ROOT, folder=folder) for word in words] for words in COMMANDS]
    (folder / "commands.json").write_text(json.dumps(commands))
    got = subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", PYODIDE], cwd=folder, capture_output=True, text=True
    )
    if got.returncode != 0:
        pytest.skip(f"it could not be had: {got.stderr[-200:]}")
    here = [sys.executable, folder / "program.py", folder / "commands.json", folder / "here.json"]
    env = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": "/nowhere", "COLUMNS": "100"}
    assert process.run(here, deadline=120, env=env, cwd=folder).ok
    there = subprocess.run(
        ["node", "run.mjs", ROOT, site, folder], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert there.returncode == 0, there.stderr[-2000:]
    version, newest = json.loads((folder / "newest.json").read_text())
    _, ours = json.loads((folder / "here.json").read_text())
    assert version.startswith("3.14.")
    for theirs, mine in zip(newest, ours, strict=True):
        assert comparable(theirs) == comparable(mine)


def comparable(told: list[object]) -> list[object]:
    """Without what each run has of its own: how long it took, and its Python."""
    return [re.sub(r"\d+\.\d+ s\b|\"seconds\": [\d.e-]+", "#", one) if isinstance(one, str) else one for one in told]
