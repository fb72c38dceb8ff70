"""The bundled data can be written again to the byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trainer.bundled import generate_chat, generate_pairs, generate_sums, train_tokenizer
from trainer.data.workloads import DATA


@pytest.mark.parametrize(
    ("write", "below", "names"),
    [
        (generate_chat.write, "", ["chat.jsonl"]),
        (generate_pairs.write, "", ["pairs.jsonl", "texts.jsonl"]),
        (generate_sums.write, "", ["sums.jsonl", "sums-lessons.jsonl"]),
        (train_tokenizer.write, "tokenizer", ["tokenizer.json", "tokenizer_config.json"]),
    ],
    ids=["chat", "pairs", "sums", "tokenizer"],
)
def test_the_bundled_data_can_be_written_again(
    write: Callable[[Path], None], below: str, names: list[str], tmp_path: Path
) -> None:
    write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    for name in names:
        assert (tmp_path / name).read_bytes() == (DATA / below / name).read_bytes()
