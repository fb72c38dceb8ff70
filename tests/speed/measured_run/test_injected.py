"""The injected code itself: old Pythons can read it, and a Python without torch does not notice it."""

import ast
import os
import sys
from pathlib import Path

import pytest

from envdoctor.errors import Trouble
from envdoctor.speed.measured_run import launch
from envdoctor.speed.measured_run.record import read
from envdoctor.system import process

FILES = sorted((launch.INJECTED / "_envdoctor_measured_run").glob("*.py"))
INSTALLED = [str(path) for path in (Path.home() / ".pyenv" / "versions").glob("*/bin/python")]  # those CI also has
PYTHONS = sorted({sys.executable, *INSTALLED})


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_python_3_8_can_read_it(path: Path) -> None:
    ast.parse(path.read_text(), feature_version=(3, 8))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_imports_the_standard_library_and_itself_only(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        else:
            continue
        for name in names:
            top = name.partition(".")[0]
            assert top in sys.stdlib_module_names or name.startswith(("torch.utils.data", "torch.optim")), name


@pytest.mark.parametrize("python", PYTHONS)
def test_a_program_without_torch_runs_as_ever(python: str, tmp_path: Path) -> None:
    program = (
        "import sys, warnings\n"
        "loaded = [name for name in ('typing', 'json', 'threading') if name in sys.modules]\n"
        "print(sys.warnoptions, [p for p in sys.path if 'inject' in p], loaded)\n"
        "warnings.warn('mine', UserWarning)\n"
    )
    plain = {"PATH": os.environ["PATH"]}
    without = process.run([python, "-c", program], deadline=30, env=plain)
    outcome = process.run([python, "-c", program], deadline=30, env=launch.variables(tmp_path, plain))
    assert outcome.ok
    assert outcome.err == without.err
    old = {"2.7", "3.6", "3.7"} & {".".join(part.split(".")[:2]) for part in Path(python).parts}
    assert old or outcome.out == without.out  # in an old Python the option stays in sys.warnoptions
    assert read(tmp_path) == ()


def test_without_site_it_is_as_quiet(tmp_path: Path) -> None:
    environment = launch.variables(tmp_path, {"PATH": os.environ["PATH"]})
    outcome = process.run([sys.executable, "-S", "-c", "print(1)"], deadline=30, env=environment)
    assert (outcome.out, outcome.err) == ("1\n", "")


def test_the_variables_keep_what_was_there(tmp_path: Path) -> None:
    found = launch.variables(tmp_path, {"PYTHONPATH": "/mine", "PYTHONWARNINGS": "error", "HOME": "/home"})
    assert found["PYTHONPATH"] == os.pathsep.join([str(launch.INJECTED), "/mine"])
    assert found["PYTHONWARNINGS"] == f"error,{launch.FILTER}"
    assert found["HOME"] == "/home"
    assert found[launch.FOLDER] == str(tmp_path)


def test_a_folder_that_pythonpath_cannot_hold_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "INJECTED", tmp_path / "a:b")
    with pytest.raises(Trouble, match="PYTHONPATH"):
        launch.variables(tmp_path, {})
