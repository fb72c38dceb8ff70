"""`envdoctor train`: what stands behind the task is the trainer's own, its help included."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from envdoctor.commands.train import TASKS, command
from trainer import tasks
from trainer.terminal.command_line import TITLES


def test_the_help_of_a_task_is_the_trainers(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # away from any environment: none is needed
    result = CliRunner().invoke(command, ["sft", "--help"], standalone_mode=False)
    said = capfd.readouterr().out
    assert result.return_value == 0
    assert said.startswith("usage: envdoctor train sft [--option value ...]")
    assert "--tokens_per_row" in said
    assert "--checker" not in said


@pytest.mark.parametrize(
    ("word", "meant"), [("stf", "Did you mean sft?"), ("dpo", "TRL has it"), ("--modle", "--model")]
)
def test_a_word_that_is_no_task_is_wrong_usage_without_any_environment(
    word: str, meant: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(command, ["--", word], standalone_mode=False)
    assert result.return_value == 2
    assert meant in capfd.readouterr().err


def test_the_tasks_are_the_trainers() -> None:
    assert sorted(TASKS) == sorted([*tasks.names(), *TITLES, "chat"])


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
