from __future__ import annotations

from pathlib import Path

import pytest

from trainer import tasks
from trainer.errors import TrainerError
from trainer.options.settings import Settings, from_mapping
from trainer.tasks.task import Task


def test_every_file_of_the_folder_is_a_task_and_shows_itself() -> None:
    assert tasks.names() == ["gritlm", "pretrain", "rft", "sft"]
    for listed in tasks.list_tasks():
        kind = type(tasks.load(listed.name))
        assert issubclass(kind, Task)
        assert kind.__name__.lower() == listed.name
        assert listed.example == kind.example
        assert f"python -m trainer {listed.name} " in listed.example
        assert (kind.__doc__ or "").startswith(listed.title)


def test_an_unknown_task_is_told_with_those_there_are() -> None:
    with pytest.raises(TrainerError) as caught:
        tasks.load("stf")
    assert caught.value.remedy == "The tasks are gritlm, pretrain, rft, sft."
    for name in ("task", "answers", "__init__"):
        with pytest.raises(TrainerError):
            tasks.load(name)


@pytest.mark.parametrize("name", tasks.names())
def test_a_plan_has_its_identity_from_settings_that_exist(name: str) -> None:
    task, settings = tasks.load(name), Settings()
    said = task.identity("content", settings)
    assert said.split(" ") == ["content", *(f"{key}={getattr(settings, key)}" for key in task.planned_by(settings))]


def test_adapters_are_part_of_a_fine_tuning_plan_where_there_are_any() -> None:
    task = tasks.load("sft")
    assert task.identity("x", from_mapping({"lora_rank": 4}, "test")).endswith(
        "lora_rank=4 lora_alpha=0.0 lora_dropout=0.0 lora_targets=auto"
    )
    assert "lora" not in task.identity("x", Settings())


def test_a_new_task_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "copycat.py").write_text(
        "from trainer.tasks.task import Task\n\n\nclass Copycat(Task):\n"
        '    """Says it again."""\n\n    example = "python -m trainer copycat --data texts.jsonl"\n'
    )
    monkeypatch.setattr(tasks, "__file__", str(tmp_path / "__init__.py"))
    monkeypatch.setattr(tasks, "__path__", [str(tmp_path)])
    assert tasks.list_tasks() == [
        tasks.Listed("copycat", "Says it again", "python -m trainer copycat --data texts.jsonl")
    ]
    found = tasks.load("copycat")
    assert (found.in_turn, found.adapter_rank, found.plan_settings) == (False, 0, ())
