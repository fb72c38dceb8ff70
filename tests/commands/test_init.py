"""`init` writes what was found, once, and with a yes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from envdoctor import configuration
from tests.change.conftest import make_environment
from tests.commands.test_asking import _until
from tests.commands.test_check import envdoctor

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    make_environment(tmp_path / ".venv")
    (tmp_path / "finetune.py").write_text("print()\n")
    return tmp_path


def init(project: Path, *words: str, **variables: str) -> tuple[int | None, str, str]:
    outcome = envdoctor("init", *words, cwd=project, VIRTUAL_ENV="", **variables)
    return outcome.code, outcome.out, outcome.err


def test_what_was_found_is_written_and_read_again(project: Path) -> None:
    code, out, err = init(project, "--yes")
    assert (code, out) == (0, ""), err
    assert configuration.read(project) == {"env": ".venv", "target_name": "auto"}, "no GPU here: another may have one"
    text = (project / "envdoctor.toml").read_text()
    assert "no NVIDIA GPU was found" in text
    assert '# script = ["finetune.py"]' in text
    # Each line that is commented out is one that can be used.
    (project / "envdoctor.toml").write_text(text.replace('# stack = "', 'stack = "').replace("# script", "script"))
    assert set(configuration.read(project)) == {"env", "target_name", "stack", "scripts"}
    assert envdoctor("check", "--no-torch", cwd=project, VIRTUAL_ENV="").code in (0, 1)


def test_what_is_asked_for_is_written(project: Path) -> None:
    code, out, err = init(project, "--yes", "--target", "cpu", "--stack", "cpu", "--format", "json")
    assert code == 0, err
    found = json.loads(out)
    assert found["settings"] == {"env": ".venv", "target": "cpu", "stack": "cpu"}
    assert configuration.read(project) == {"env": ".venv", "target_name": "cpu", "stack": "cpu"}


def test_an_environment_elsewhere_keeps_its_whole_path(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("elsewhere") / 'a "quoted" ünv'
    make_environment(other)
    assert init(project, "--yes", "--env", str(other))[0] == 0
    assert configuration.read(project)["env"] == str(other)


def test_nothing_is_written_without_a_yes(project: Path) -> None:
    code, _, err = init(project)
    assert code == 2
    assert 'env = ".venv"' in err, "what would be written is shown all the same"
    assert "nobody to ask" in err
    assert not (project / "envdoctor.toml").exists()


def test_what_is_there_is_replaced_after_a_yes_only(project: Path) -> None:
    file = project / "envdoctor.toml"
    file.write_text('fail-on = "error"\n')
    code, _, err = init(project)
    assert (code, file.read_text()) == (2, 'fail-on = "error"\n')
    assert "is there already" in " ".join(err.split())
    assert init(project, "--yes")[0] == 0
    assert "env" in configuration.read(project)


@pytest.mark.parametrize(("typed", "code"), [("n", 130), ("y", 0)])
def test_a_terminal_is_asked(project: Path, typed: str, code: int) -> None:
    leader, follower = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "envdoctor", "init"], cwd=project, stdin=follower, stdout=follower, stderr=follower,
        env={**os.environ, "PYTHONPATH": str(ROOT), "VIRTUAL_ENV": ""},
    )  # fmt: skip
    os.close(follower)
    said = _until(leader, "Write envdoctor.toml?")
    os.write(leader, f"{typed}\n".encode())
    said += _until(leader, None)
    assert child.wait(timeout=60) == code, said
    os.close(leader)
    assert (project / "envdoctor.toml").exists() == (typed == "y")


def test_a_project_with_settings_of_ours_is_told_where_they_go(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.envdoctor]\nfail-on = "error"\n')
    code, _, err = init(project, "--yes")
    assert code == 2
    assert "pyproject.toml" in err
    assert not (project / "envdoctor.toml").exists()
