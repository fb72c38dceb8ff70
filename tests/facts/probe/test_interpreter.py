"""The interpreter section, under every Python at hand."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.markers import default_environment

from envdoctor.facts import wire
from envdoctor.facts.model import Interpreter
from envdoctor.system import process
from tests.facts.probe.conftest import Ask
from tests.facts.probe.venvs import Venv

SOURCES = sorted((Path(__file__).resolve().parents[3] / "envdoctor" / "facts" / "probe").rglob("*.py"))


def pythons() -> list[str]:
    """Interpreters of other versions that this machine has."""
    names = [f"python3.{minor}" for minor in range(8, 16)]
    roots = [Path(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))) / "versions"]
    found = {path for root in roots for name in names for path in root.glob(f"*/bin/{name}")}
    found.update(Path(path) for name in names if (path := shutil.which(name)) and "shims" not in path)
    return sorted(map(str, found))


@pytest.mark.parametrize("python", [sys.executable, *pythons()])
def test_sections_fit_the_facts_under_every_python(python: str, ask: Ask) -> None:
    sections = ask(python)
    interpreter = wire.from_json(Interpreter, sections["interpreter"])
    outcome = process.run([python, "-c", "import platform; print(platform.python_version())"], deadline=30)
    assert interpreter.version == outcome.out.strip()
    assert interpreter.markers["python_full_version"] == interpreter.version
    assert interpreter.site_packages


def test_markers_are_those_of_packaging(ask: Ask) -> None:
    assert ask()["interpreter"]["markers"] == default_environment()


def test_a_virtual_environment_is_told_from_its_base(venv: Venv, ask: Ask) -> None:
    told = ask(venv.python)["interpreter"]
    assert told["is_virtual"] is True
    assert told["prefix"] == str(venv.path)
    assert told["base_prefix"] == sys.base_prefix
    assert told["site_packages"] == [str(venv.site)]
    assert told["externally_managed"] is False
    assert told["writable"] is True
    base = ask(Path(sys.base_prefix) / "bin" / "python3")["interpreter"]
    assert base["is_virtual"] is False


def test_site_packages_are_those_of_the_interpreter_itself(venv: Venv, ask: Ask) -> None:
    code = "import site; print(site.getsitepackages())"
    for python in (venv.python, *pythons()):
        outcome = process.run([python, "-c", code], deadline=30)
        existing = [path for path in eval(outcome.out) if os.path.isdir(path)]
        assert ask(python)["interpreter"]["site_packages"] == existing


def test_headers_are_found_or_their_absence_is(venv: Venv, ask: Ask) -> None:
    import sysconfig

    path = os.path.join(sysconfig.get_path("include"), "Python.h")
    assert ask(venv.python)["interpreter"]["headers"] == (path if os.path.exists(path) else "")


def test_a_checkout_does_not_hide_what_was_installed_from_it(venv: Venv, tmp_path: Path, ask: Ask) -> None:
    """A flat layout has the project's own package in the working directory; another's of that name does hide."""
    venv.package("my-tool")
    venv.package("datasets")
    work = tmp_path / "checkout"
    for name in ("my_tool", "datasets"):
        (work / name).mkdir(parents=True)
        (work / name / "__init__.py").write_text("")
    (work / "pyproject.toml").write_text('[project]\nname = "My.Tool"\nversion = "1.1"\n')
    told = ask(venv.python, cwd=str(work))["interpreter"]["shadowed"]
    assert told == [str(work / "datasets") + "/"]
    (work / "pyproject.toml").write_text('[project]\nname = "other"\n')
    told = ask(venv.python, cwd=str(work))["interpreter"]["shadowed"]
    assert told == [str(work / "datasets") + "/", str(work / "my_tool") + "/"]


def test_shadowing_modules_are_named(venv: Venv, tmp_path: Path, ask: Ask) -> None:
    venv.package("numpy")
    venv.package("datasets")
    work, extra = tmp_path / "work", tmp_path / "extra"
    for folder in (work, extra):
        folder.mkdir()
    (work / "timeit.py").write_text("")
    (work / "train.py").write_text("")
    (work / "datasets").mkdir()  # without __init__.py the installed package still wins
    (extra / "numpy").mkdir()
    (extra / "numpy" / "__init__.py").write_text("")
    told = ask(venv.python, cwd=str(work), python_path=[str(extra)])["interpreter"]["shadowed"]
    assert told == [str(work / "timeit.py"), f"{extra}/numpy/"]


def test_files_in_the_working_directory_are_never_imported(venv: Venv, tmp_path: Path, ask: Ask) -> None:
    for name in ("json", "re", "os", "typing", "sitecustomize", "environment", "collections"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(9)\n")
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        assert ask(venv.python, cwd=str(tmp_path))["interpreter"]["version"]
    finally:
        os.chdir(before)


def test_path_files_are_told_and_not_run(venv: Venv, tmp_path: Path, ask: Ask) -> None:
    witness = tmp_path / "ran"
    outside, inside = tmp_path / "outside", venv.site / "inside"
    outside.mkdir()
    inside.mkdir()
    (venv.site / "hook.pth").write_text(f"import pathlib; pathlib.Path({str(witness)!r}).touch()\n")
    (venv.site / "outside.pth").write_text(f"# comment\n{outside}\n")
    (venv.site / "inside.pth").write_text("inside\n")
    (venv.site / "sitecustomize.py").write_text(f"import pathlib; pathlib.Path({str(witness)!r}).touch()\n")
    told = ask(venv.python)["interpreter"]["path_files"]
    assert told == [
        f"{venv.site}/hook.pth runs code",
        f"{venv.site}/outside.pth adds {outside}",
        f"{venv.site}/sitecustomize.py runs code",
    ]
    assert not witness.exists()


def test_packages_in_added_folders_are_found(venv: Venv, tmp_path: Path, ask: Ask) -> None:
    project = tmp_path / "project"
    (project / "mine.egg-info").mkdir(parents=True)
    (project / "mine.egg-info" / "PKG-INFO").write_text("Name: mine\nVersion: 0.1\n")
    (venv.site / "mine.pth").write_text(f"{project}\n")
    (found,) = ask(venv.python)["packages"]["distributions"]
    assert (found["name"], found["version"], found["location"]) == ("mine", "0.1", str(project))


def test_user_site_counts_only_where_the_interpreter_uses_it(
    tmp_path: Path, ask: Ask, venv: Venv, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = Path(sys.base_prefix) / "bin" / "python3"
    folder = tmp_path / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages/mine-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Name: mine\nVersion: 1.0\n")
    monkeypatch.setattr("os.environ", {**os.environ, "HOME": str(tmp_path)})
    local = tmp_path / ".local"
    local.symlink_to(tmp_path)
    found = ask(base)
    assert found["interpreter"]["user_site"] == str(
        tmp_path / f".local/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    )
    assert "mine" in [each["name"] for each in found["packages"]["distributions"]]
    assert ask(base, no_user_site=True)["interpreter"]["user_site"] is None
    assert ask(venv.python)["interpreter"]["user_site"] is None


def test_system_packages_are_seen_through(tmp_path: Path, ask: Ask) -> None:
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", str(tmp_path / "env")], check=True
    )
    venv = Venv(tmp_path / "env")
    (tmp_path / "env" / "pyvenv.cfg").write_text(
        (tmp_path / "env" / "pyvenv.cfg").read_text().replace("packages = false", "packages = true")
    )
    venv.package("pip", "99.0")
    told = {each["name"]: each for each in ask(venv.python)["packages"]["distributions"]}
    assert told["pip"]["version"] == "99.0"  # the environment's own comes before the system's
    system = {each["name"] for each in ask(Path(sys.base_prefix) / "bin" / "python3")["packages"]["distributions"]}
    assert system <= set(told)


def test_an_old_python_says_at_least_which_it_is(tmp_path: Path) -> None:
    old = [str(p) for p in (Path.home() / ".pyenv" / "versions").glob("3.[67].*/bin/python3")]
    if not old:
        pytest.skip("no Python older than 3.8 on this machine")
    (tmp_path / "request").write_text("{}")
    probe = SOURCES[0].parent / "__main__.py"
    outcome = process.run(
        [old[0], "-I", "-S", probe, "environment", tmp_path / "request", tmp_path / "answer"], deadline=30
    )
    assert outcome.ok
    assert '"version": "3.' in (tmp_path / "answer").read_text()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_probes_parse_on_python_3_8_and_import_what_is_there(path: Path) -> None:
    import ast

    tree = ast.parse(path.read_text("utf-8"), feature_version=(3, 8))
    theirs = {"torch_state.py": {"torch"}, "ranks.py": {"torch"}, "gpu.py": {"pynvml"}}
    allowed = set(sys.stdlib_module_names) | theirs.get(path.name, set())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert {alias.name.split(".")[0] for alias in node.names} <= allowed
        elif isinstance(node, ast.ImportFrom) and not node.level:
            assert (node.module or "").split(".")[0] in allowed
