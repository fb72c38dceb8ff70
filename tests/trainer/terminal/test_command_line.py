"""What a person types: help of a task, both spellings, what was meant by a wrong word, configuration files."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from trainer.__main__ import main
from trainer.errors import TrainerError
from trainer.options.option import belongs_to
from trainer.options.settings import Settings, as_file, from_mapping, read_file
from trainer.terminal import command_line

TASKS = ["sft", "gritlm", "rft", "pretrain", "prepare"]


def said(capsys: pytest.CaptureFixture, *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out + err


@pytest.mark.parametrize("program", ["envdoctor train", "python -m trainer"])
@pytest.mark.parametrize("words", [[], *([task] for task in TASKS)])
def test_no_help_is_wider_than_a_terminal(
    words: list[str], program: str, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TRAINER_PROGRAM", program)
    for option in ("--help", "--help-all"):
        _, text = said(capsys, *words, option)
        assert [line for line in text.splitlines() if len(line) > 80] == []
        assert len([line for line in text.splitlines() if line.lstrip().startswith(program)]) >= 1


@pytest.mark.parametrize("task", TASKS)
def test_a_task_has_its_own_help(task: str, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINER_PROGRAM", "envdoctor train")
    code, usual = said(capsys, task, "--help")
    _, every = said(capsys, task, "--help-all")
    assert code == 0
    assert f"usage: envdoctor train {task} " in usual
    assert f"  envdoctor train {task} --" in usual
    assert len(usual.splitlines()) < 160 < 1000
    for item in dataclasses.fields(Settings):
        option = f"\n  --{item.name} "  # where it is listed; examples are set in deeper
        assert (option in every) == belongs_to(item, task), item.name
        assert every.count(option) <= 1
        assert (option in usual) == (belongs_to(item, task) and not item.metadata["rare"]), item.name
    others = set(TASKS) - {task}
    assert not any(f"envdoctor train {other} " in usual for other in others)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["sft", "--modle", "x"], "Did you mean --model"), (["sft", "--learning-rat", "1"], "--learning_rate"),
        (["sft", "--checker", "exact"], "--checker is an option of rft, not of sft"),
        (["sft", "--num_train_epochs", "3"], "It is called --epochs here"),
        (["sft", "--gradient-accumulation-steps=3"], "It is called --accumulate here"),
        (["sft", "--env", "./env"], "envdoctor train --env ... sft"), (["sft", "--xyzzy"], "--help` lists the options"),
        (["sft", "--format", "yml"], "invalid choice"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_answered_with_what_was_meant(words: list, meant: str, capsys) -> None:
    code, text = said(capsys, *words)
    assert code == 2
    assert meant in text
    assert len(text.strip().splitlines()) <= 2


def test_a_wrong_task_is_answered_with_the_right_one(capsys: pytest.CaptureFixture) -> None:
    code, text = said(capsys, "stf", "--epochs", "2")
    assert code == 2
    assert "Did you mean sft?" in text


def settings(*words: str) -> Settings:
    return command_line.settings_of(command_line.parser("sft").parse(["sft", *words]))


def test_both_spellings_switches_and_lists() -> None:
    found = settings(
        "--learning-rate", "1e-4", "--tokens_per_row=64", "--merge_lora", "--data", "a", "b", "--epochs", "auto"
    )
    assert (found.learning_rate, found.tokens_per_row, found.merge_lora, found.data) == (1e-4, 64, True, ("a", "b"))
    assert found.epochs == 0
    assert settings("--packing", "false").packing is False


FILES = {
    "a.yaml": "# comment\nlearning_rate: 1e-4  # for YAML 1.1 a text\ndata: [a.jsonl, b.jsonl]\npacking: true\n",
    "a.toml": "# comment\nlearning_rate = 1e-4\ndata = ['a.jsonl', 'b.jsonl']\npacking = true\n",
    "a.json": '{"learning_rate": 1e-4, "data": ["a.jsonl", "b.jsonl"], "packing": true}',
}


@pytest.mark.parametrize("name", FILES)
def test_a_configuration_file_in_each_language(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FILES[name])
    found = settings("--config", str(tmp_path / name), "--seed", "4")
    assert (found.learning_rate, found.data, found.packing, found.seed) == (1e-4, ("a.jsonl", "b.jsonl"), True, 4)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.yaml", "epochs: [1\n", "line 2"), ("a.yaml", "- 1\n", "top level"), ("a.conf", "epochs: 1", "end in .yaml"),
        ("a.yaml", "epocs: 1\n", "Did you mean epochs"),
        ("a.yaml", "checker: numeric\n", "checker is an option of rft"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_told(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(TrainerError) as caught:
        settings("--config", str(tmp_path / name))
    assert said in caught.value.message + caught.value.remedy
    assert str(tmp_path / name) in caught.value.message


def test_what_is_printed_is_read_back(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    words = ["sft", "--data", "a", "b", "--learning_rate", "3e-5", "--eval_share", "0.1", "--model", "x y"]
    assert main([*words, "--print-config"]) == 0
    text = capsys.readouterr().out
    (tmp_path / "c.yaml").write_text(text)
    assert settings("--config", str(tmp_path / "c.yaml")) == settings(*words[1:])
    assert "max_steps: auto  # " in text
    for task in TASKS:
        (tmp_path / "d.yaml").write_text(as_file(from_mapping({}, "here"), task, "all"))
        assert from_mapping(read_file(tmp_path / "d.yaml"), "d", task=task) == from_mapping({}, "here")


def test_what_a_run_decided_stands_beside_it(tiny: dict, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps({**tiny, "max_steps": 2}))
    assert main(["sft", "--config", str(tmp_path / "s.json")]) == 0
    decided = from_mapping(read_file(tmp_path / "run" / "config.yaml"), "here", task="sft")
    assert (decided.learning_rate, decided.max_steps, decided.compile) == (1e-3, 2, "off")


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("sft --data x --streaming --max_steps 2 --data_weights 1", "is read twice in each pass"),
        ("sft --data x --streaming --max_steps 2 --eval_share 0.1", "Give eval_data instead"),
        ("sft --data x --streaming", "needs max_steps"),
    ],
)
def test_what_is_not_there_says_what_is(line: str, remedy: str, capsys) -> None:
    assert main(line.split()) == 1
    assert remedy in capsys.readouterr().err


@pytest.mark.parametrize(("task", "why"), [("rft", "prompts are few"), ("gritlm", "from all the pairs")])
def test_what_is_not_streamed_says_why(capsys: pytest.CaptureFixture, task: str, why: str) -> None:
    assert why in said(capsys, task, "--data", "x", "--streaming", "--max_steps", "2")[1]
