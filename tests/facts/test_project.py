"""The lock of the project whose environment it is, as three tools write it."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.facts.project import project_lock

WANTED = [("torch", "2.13.0+cpu"), ("numpy", "2.5.5")]
LOCKS = {
    "uv.lock": 'version = 1\n\n[[package]]\nname = "numpy"\nversion = "2.4.6"\nsource = { registry = "r" }\n\n'
    '[[package]]\nname = "numpy"\nversion = "2.5.5"\n\n[[package]]\nname = "mine"\nsource = { virtual = "." }\n',
    "poetry.lock": '[[package]]\nname = "numpy"\nversion = "2.5.5"\ndescription = ""\ngroups = ["main"]\n',
    "pdm.lock": '[metadata]\ngroups = ["default"]\n\n[[package]]\nname = "numpy"\nversion = "2.5.5"\nsummary = ""\n',
}


def _project(folder: Path, lock: str, text: str) -> Path:
    (folder / "pyproject.toml").write_text("")
    (folder / lock).write_text(text)
    return folder / ".venv"


@pytest.mark.parametrize("lock", LOCKS)
def test_what_its_tool_would_take_back(tmp_path: Path, lock: str) -> None:
    found = project_lock(_project(tmp_path, lock, LOCKS[lock]))
    assert found is not None
    said = found.taken_back(WANTED)
    assert said.startswith(f"{lock} has 1 of these packages in another version, or not at all: `{lock[:-5]} sync")
    assert ("uv run --no-sync" in said) == (lock == "uv.lock")
    assert found.taken_back(WANTED[1:]) == ""


def test_other_environments_belong_to_nobody(tmp_path: Path) -> None:
    environment = _project(tmp_path, "uv.lock", LOCKS["uv.lock"])
    assert project_lock(environment.with_name("env")) is None
    (tmp_path / "uv.lock").unlink()
    assert project_lock(environment) is None
    (tmp_path / "uv.lock").write_bytes(b'name = "torch"\nversion = "\xff\xfe')
    assert project_lock(environment) is not None
    (tmp_path / "pyproject.toml").unlink()
    assert project_lock(environment) is None
