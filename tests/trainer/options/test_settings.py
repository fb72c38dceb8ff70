from __future__ import annotations

from pathlib import Path

import pytest

from trainer.errors import TrainerError
from trainer.options.settings import PRESETS, Settings, from_mapping, read_file


def test_defaults_and_presets_are_valid() -> None:
    for preset in PRESETS:
        assert isinstance(from_mapping({}, "here", preset), Settings)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"learning_rat": 1}, "unknown setting 'learning_rat'"),
        ({"packing": "maybe"}, "packing: 'maybe'"),
        ({"epochs": "many"}, "epochs: 'many' is not a number"),
        ({"epochs": 1.5}, "epochs: 1.5 is not a whole number"),
        ({"epochs": True}, "epochs: True"),
        ({"epochs": -1}, "epochs must be at least 0"),
        ({"learning_rate": -0.5}, "learning_rate must be at least 0"),
        ({"data": [1]}, "data: [1]"),
        ({"precision": "int4"}, "not one of auto, float32, bfloat16, float16"),
        ({"attention": "model"}, "see each other"),
        ({"keep_checkpoints": 1}, "at least 2"),
    ],
)
def test_a_wrong_value_is_refused_by_name(values: dict, said: str) -> None:
    with pytest.raises(TrainerError) as caught:
        from_mapping(values, "here")
    assert said in caught.value.message
    assert caught.value.remedy


def test_an_unknown_name_comes_with_its_neighbours() -> None:
    with pytest.raises(TrainerError) as caught:
        from_mapping({"learning-rates": 1}, "my.json")
    assert "learning_rate" in caught.value.remedy
    assert "my.json" in caught.value.message


def test_texts_from_the_command_line_become_the_right_types() -> None:
    settings = from_mapping({"epochs": "3", "packing": "false", "data": "a.jsonl", "learning_rate": "1e-4"}, "line")
    assert (settings.epochs, settings.packing, settings.data, settings.learning_rate) == (3, False, ("a.jsonl",), 1e-4)


WORDS = [("on", True), ("yes", True), ("False", False), ("off", False), ("no", False)]


@pytest.mark.parametrize(("word", "value"), WORDS)
def test_a_switch_takes_the_words_people_write(word: str, value: bool) -> None:
    assert from_mapping({"packing": word}, "test").packing is value


@pytest.mark.parametrize(
    ("name", "text"), [("a.json", "{"), ("a.json", "[1]"), ("a.toml", "x ="), ("a.json", "[" * 100_000)]
)
def test_a_broken_file_is_named(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(TrainerError) as caught:
        read_file(path)
    assert str(path) in caught.value.message
