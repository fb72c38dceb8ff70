"""`envdoctor train`: what stands behind the task is the trainer's own, its help included."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from envdoctor.commands.train import command


def test_the_help_of_a_task_is_the_trainers(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # away from any environment: none is needed
    result = CliRunner().invoke(command, ["sft", "--help"], standalone_mode=False)
    said = capfd.readouterr().out
    assert result.return_value == 0
    assert said.startswith("usage: envdoctor train sft [--option value ...]")
    assert "--tokens_per_row" in said
    assert "--checker" not in said


def test_envdoctors_own_help_names_the_other(capfd: pytest.CaptureFixture[str]) -> None:
    result = CliRunner().invoke(command, ["--help"])
    assert result.exit_code == 0
    assert "envdoctor train sft --help" in " ".join(result.output.split())


def test_without_a_task_the_tasks_are_shown(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(command, [], standalone_mode=False)
    assert result.return_value == 2
    said = capfd.readouterr().out
    for task in ("sft", "rft", "gritlm", "pretrain", "prepare", "chat"):
        assert f"envdoctor train {task} " in said
