"""Environments in strange places, and collecting from strange places."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from envdoctor.errors import Trouble
from envdoctor.facts import collect
from envdoctor.facts.environment import locate
from envdoctor.facts.model import Host, Interpreter, Packages, Torch
from envdoctor.system import temporary
from tests.facts.conftest import TORCH, facts
from tests.facts.probe.venvs import Venv


def test_a_place_that_is_no_environment_yet(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="no such environment"):
        collect.begin(locate(tmp_path / "new"))


@pytest.mark.parametrize("name", ["with blank", "ünïcödé", "new\nline", "x" * 200, "$(touch pwned);'\""])
def test_environments_in_strange_places(tmp_path: Path, name: str) -> None:
    venv = Venv(tmp_path / name)
    venv.package("sample")
    venv.torch(TORCH)
    told = facts(venv, deep=True)
    assert isinstance(told.packages, Packages)
    assert told.packages.damaged == ()
    assert told.packages.version("sample") == "1.0"
    assert isinstance(told.torch, Torch)


def test_without_home(venv: Venv, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    told = facts(venv, torch=False)
    assert isinstance(told.host, Host)
    monkeypatch.setenv("HOME", "/no/such/home")
    assert isinstance(facts(venv, torch=False).host, Host)


def test_from_a_directory_that_was_removed(venv: Venv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    told = facts(venv, torch=False)
    assert isinstance(told.interpreter, Interpreter)
    assert isinstance(told.host, Host)


def test_a_temporary_directory_that_takes_nothing(venv: Venv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "not-there"))
    assert isinstance(facts(venv, torch=False).interpreter, Interpreter)
    monkeypatch.setattr(temporary, "PLACES", ())
    monkeypatch.setattr(temporary, "_cache", lambda: "/proc/nowhere")
    with pytest.raises(Trouble, match="no place for temporary files") as caught:
        facts(venv)
    assert "TMPDIR" in caught.value.remedy


def test_the_user_site_is_left_out_where_the_shell_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = Path(sys.base_prefix) / "bin" / "python3"
    folder = tmp_path / f".local/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages/torch"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(TORCH)
    monkeypatch.setenv("HOME", str(tmp_path))
    system = locate(python)
    told = collect.begin(system).finish()
    assert isinstance(told.torch, Torch)
    assert told.torch.version == "2.9.0"
    monkeypatch.setenv("PYTHONNOUSERSITE", "1")
    told = collect.begin(system).finish()
    assert not isinstance(told.torch, Torch) or told.torch.version != "2.9.0"
