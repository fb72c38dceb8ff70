"""Which environment is meant, and one clear error for whatever is none."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from envdoctor.errors import Trouble
from envdoctor.facts.environment import Environment, locate
from tests.facts.probe.venvs import Venv

BASE = Path(sys.base_prefix) / "bin" / "python3"


@pytest.fixture
def venv(tmp_path: Path) -> Venv:
    return Venv(tmp_path / "env")


def trouble(path: Path | None, environ: dict[str, str] | None = None) -> Trouble:
    with pytest.raises(Trouble) as caught:
        locate(path, environ=environ)
    assert caught.value.remedy
    return caught.value


def test_a_virtual_environment_by_its_folder_and_by_its_python(venv: Venv) -> None:
    expected = Environment(path=venv.path, python=venv.python, kind="venv")
    assert locate(venv.path) == expected
    assert locate(venv.path / "bin" / ".." / "bin" / "python") == expected
    assert locate(venv.path / "bin" / "python3").path == venv.path


def test_a_relative_path_and_home(venv: Venv, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(venv.path.parent)
    monkeypatch.setenv("HOME", str(venv.path.parent))
    assert locate(Path("env")).path == venv.path
    assert locate(Path("~/env")).path == venv.path


def test_a_conda_environment(tmp_path: Path) -> None:
    (tmp_path / "conda-meta").mkdir()
    (tmp_path / "bin").mkdir()
    shutil.copy(BASE.resolve(), tmp_path / "bin" / "python")
    assert locate(tmp_path) == Environment(path=tmp_path, python=tmp_path / "bin" / "python", kind="conda")


def test_a_system_python() -> None:
    told = locate(BASE)
    assert (told.path, told.kind, told.exists) == (Path(sys.base_prefix), "system", True)
    assert locate(Path(sys.base_prefix)).kind == "system"


def test_a_shim_is_asked_for_its_python(venv: Venv, tmp_path: Path) -> None:
    shim = tmp_path / "shims" / "python"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {venv.python} "$@"\n')
    shim.chmod(0o755)
    assert locate(shim) == Environment(path=venv.path, python=venv.python, kind="venv")


def test_nothing_there_yet(tmp_path: Path) -> None:
    told = locate(tmp_path / "new" / "env")
    assert told == Environment(path=tmp_path / "new" / "env", python=tmp_path / "new/env/bin/python", exists=False)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert not locate(empty).exists
    with pytest.raises(Trouble, match="no such environment") as caught:
        told.require()
    assert "fix" in caught.value.remedy
    assert locate(Path(sys.prefix)).require().exists


def test_a_folder_that_is_no_environment(tmp_path: Path, venv: Venv) -> None:
    told = trouble(tmp_path)
    assert str(tmp_path) in str(told)
    assert "not an environment" in told.problem
    venv.path.rename(tmp_path / ".venv")
    assert trouble(tmp_path).remedy == f"Did you mean {tmp_path / '.venv'}?"


def test_an_environment_whose_interpreter_is_gone(venv: Venv) -> None:
    for name in ("python", "python3", f"python3.{sys.version_info[1]}"):
        (venv.path / "bin" / name).unlink(missing_ok=True)
    (venv.path / "bin" / "python").symlink_to("/usr/bin/python3.4")
    told = trouble(venv.path)
    assert "leads to /usr/bin/python3.4, which does not exist" in told.problem
    assert told.exit_code == 3
    (venv.path / "bin" / "python").unlink()
    assert "virtual environment without bin/python" in trouble(venv.path).problem
    (venv.path / "bin" / "python").write_text("")
    assert "may not be executed" in trouble(venv.path).problem


def test_paths_that_are_something_else(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("hello")
    assert "not an executable file" in trouble(text).problem
    (tmp_path / "link").symlink_to("/no/where")
    assert "broken link to /no/where" in trouble(tmp_path / "link").problem
    (tmp_path / "loop").symlink_to("loop")
    assert trouble(tmp_path / "loop").exit_code == 3
    assert trouble(Path("/bin/ls")).problem.startswith("does not answer like a Python interpreter")
    assert trouble(Path("a\0b")).problem


def test_a_file_where_a_folder_is_needed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not locate(tmp_path / "file" / "env").exists


def test_the_active_environment(venv: Venv, tmp_path: Path) -> None:
    told = locate(environ={"VIRTUAL_ENV": str(venv.path), "CONDA_PREFIX": "/opt/conda", "PATH": "/usr/bin"})
    assert (told.path, told.chosen, told.remark) == (venv.path, "VIRTUAL_ENV", "")
    (tmp_path / "conda" / "conda-meta").mkdir(parents=True)
    (tmp_path / "conda" / "bin").mkdir()
    shutil.copy(BASE.resolve(), tmp_path / "conda" / "bin" / "python")
    told = locate(environ={"CONDA_PREFIX": str(tmp_path / "conda")})
    assert (told.kind, told.chosen) == ("conda", "CONDA_PREFIX")


@pytest.mark.torch
def test_our_own_environment_is_meant_where_torch_is_in_it_too() -> None:
    told = locate(environ={"VIRTUAL_ENV": sys.prefix})
    assert (told.path, told.remark) == (Path(sys.prefix), "")
    assert locate(BASE).remark == ""


def test_our_own_environment_without_torch_is_never_meant(
    venv: Venv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after `pip install gpu-envdoctor` into a venv of its own: what lies here is taken, and said; else it asks."""
    monkeypatch.setattr(sys, "path", [str(venv.site)])
    monkeypatch.setattr(sys, "prefix", str(venv.path))
    environ = {"VIRTUAL_ENV": str(venv.path), "PATH": str(venv.path / "bin")}
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    alone = trouble(None, environ)
    assert "only envdoctor's own environment" in alone.problem
    assert "--env" in alone.remedy
    assert alone.exit_code == 3
    mine, other = Venv(work / ".venv"), Venv(work / "env")
    told = locate(environ=environ)
    assert (told.path, told.chosen, told.others) == (mine.path, "folder", (other.path,))
    assert told.remark == "environment .venv: it lies here, and no other is active; --env names another: env"
    venv.torch("")
    assert locate(environ=environ).path == venv.path, "with torch it is an environment for training"


def test_an_environment_that_lies_here_comes_before_the_python_on_path(
    venv: Venv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # holds env/
    told = locate(environ={"PATH": str(BASE.parent)})
    assert (told.path, told.chosen) == (venv.path, "folder")
    monkeypatch.chdir(venv.path)
    told = locate(environ={"PATH": str(BASE.parent)})
    assert told.chosen == "PATH"
    assert "the python on PATH" in told.remark


def test_an_active_environment_that_is_gone(tmp_path: Path) -> None:
    told = trouble(None, {"VIRTUAL_ENV": str(tmp_path / "gone")})
    assert told.problem == "VIRTUAL_ENV names an environment that is gone"
    assert str(tmp_path / "gone") in str(told)


def test_the_python_on_the_path(venv: Venv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = locate(environ={"PATH": f"/nowhere{os.pathsep}{venv.path / 'bin'}"})
    assert (told.path, told.chosen) == (venv.path, "PATH")
    monkeypatch.chdir(venv.path / "bin")
    assert "no python on PATH" in trouble(None, {"PATH": f".{os.pathsep}{os.pathsep}bin"}).problem


def test_a_broken_environment_is_told_how_to_be_made_anew(tmp_path: Path) -> None:
    gone = tmp_path / "my env"
    (gone / "bin").mkdir(parents=True)
    (gone / "pyvenv.cfg").write_text("")
    (gone / "bin" / "python").symlink_to(tmp_path / "nowhere")
    with pytest.raises(Trouble) as caught:
        locate(gone)
    assert f"mv '{gone}' '{gone}.broken' && envdoctor fix --env '{gone}'" in (caught.value.remedy or "")


@pytest.mark.parametrize("what", ["missing", "folder", "pipe", "loop"])
def test_a_virtual_environment_that_lost_its_pyvenv_cfg(venv: Venv, what: str) -> None:
    """Its Python is the base's then: to look at that one, and call it healthy, would be about another environment."""
    settings = venv.path / "pyvenv.cfg"
    settings.unlink()
    if what == "folder":
        settings.mkdir()
    elif what == "pipe":
        os.mkfifo(settings)
    elif what == "loop":
        settings.symlink_to(settings.name)
    told = trouble(venv.path)
    assert "no readable pyvenv.cfg: its python is that of" in told.problem
    assert told.exit_code == 3
