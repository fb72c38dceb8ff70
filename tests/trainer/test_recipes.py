"""The recipes as they are documented: the commands of their first lines, with a smaller model and fewer steps."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.trainer.conftest import TINY
from trainer.__main__ import main
from trainer.options.settings import from_mapping, read_file
from trainer.terminal.command_line import RECIPES

SMALL = "--device cpu --threads 1 --precision float32 --log_every 50"
# What a test adds to each command: a tiny model instead of the bundled 5M one, and an early end.
MORE = {
    "cot": "--model_config tiny.json --max_steps 2 --epochs auto --eval_every 2",
    "small-data": "--model_config tiny.json --learning_rate 1e-2 --epochs 8",
    "rft": "--samples_per_prompt 8 --max_steps 2 --epochs auto",
    "gritlm": "--model_config tiny.json --max_steps 2 --epochs auto",
    "pretrain": "--model_config tiny.json --max_steps 2 --epochs auto --eval_every 2",
}  # fmt: skip


def commands(name: str) -> list[list[str]]:
    (line,) = [line for line in (RECIPES / f"{name}.yaml").read_text().splitlines() if line.startswith("#   ")]
    found = [shlex.split(part) for part in line[1:].split("&&")]
    assert all(words[:2] == ["envdoctor", "train"] for words in found)
    return [words[2:] for words in found]


def test_every_recipe_says_how_to_run_it_and_what_to_change() -> None:
    assert {path.stem for path in RECIPES.glob("*.yaml")} == set(MORE)
    for name in MORE:
        text = (RECIPES / f"{name}.yaml").read_text()
        assert "# For real data: " in text
        (task, option, last) = commands(name)[-1]
        assert (option, last) == ("--config", name)
        from_mapping(read_file(RECIPES / f"{name}.yaml"), name, task=task)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cot", "gritlm", "pretrain", "rft"])
def test_a_recipe_runs_on_bundled_data(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "tiny.json").write_text(json.dumps({**TINY, "max_position_embeddings": 4096, "eos_token_id": 1}))
    for task, option, recipe in commands(name):
        code = main([task, option, recipe, *shlex.split(f"{MORE[recipe]} {SMALL}")])
        assert code == 0, capsys.readouterr().err[-2000:]
    where = {"rft": "adapter"}.get(name, "model")
    assert (tmp_path / "runs" / name / where).is_dir()
