"""Texts to shards and back: nothing lost, one clear message for each kind of bad input."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.trainer.conftest import WORDS, write_lines
from trainer.data.prepare import prepare
from trainer.data.shards import open_shards, read_index
from trainer.data.tokenizer import load_tokenizer
from trainer.errors import TrainerError
from trainer.options.settings import from_mapping


def words(count: int, shift: int = 0) -> str:
    return " ".join(WORDS[(n + shift) % len(WORDS)] for n in range(count))


TEXTS = [words(3 + (11 * n) % 40, n) for n in range(40)]


def shards_of(tiny: dict, folder: Path, texts: list | None = None, **more) -> Path:
    source = write_lines(folder.with_suffix(".jsonl"), [{"text": text} for text in (TEXTS if texts is None else texts)])
    prepare(from_mapping({**tiny, "data": [str(source)], "output": str(folder), **more}, "test"), print)
    return folder


def decoded(tiny: dict, folder: Path) -> list:
    tokenizer = load_tokenizer(from_mapping(tiny, "test"), None)
    found = []
    for shard in open_shards(folder, verify=True).shards:
        for low, high in zip(shard.starts[:-1], shard.starts[1:], strict=True):
            assert int(shard.ids[high - 1]) == tokenizer.eos_token_id
            found.append(tokenizer.decode(shard.ids[low : high - 1].tolist()))
    return found


@pytest.mark.parametrize("size", [50, 300, 1 << 27])
def test_every_text_comes_back_in_order_whatever_the_shard_size(tiny: dict, tmp_path: Path, size: int) -> None:
    folder = shards_of(tiny, tmp_path / "s", shard_tokens=size)
    assert decoded(tiny, folder) == TEXTS
    index = read_index(folder)
    assert index["dtype"] == "uint16"
    assert (len(index["shards"]) > 1) is (size < 1000)
    assert all(entry["tokens"] >= min(size, 50) or entry is index["shards"][-1] for entry in index["shards"])
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["index.json", *(entry[key] for entry in index["shards"] for key in ("name", "lengths"))]
    )


def test_text_files_and_parquet_are_read_too(tiny: dict, tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    table = tmp_path / "b.parquet"
    parquet.write_table(pyarrow.Table.from_pylist([{"body": text} for text in TEXTS[:5]]), table)
    (tmp_path / "a.txt").write_text(TEXTS[9])
    values = {**tiny, "data": [str(tmp_path / "a.txt"), str(table)], "output": str(tmp_path / "s")}
    found = prepare(from_mapping({**values, "text_field": "body"}, "test"), print)
    assert found["documents"] == 6
    assert decoded(tiny, tmp_path / "s") == [TEXTS[9], *TEXTS[:5]]


def test_empty_texts_are_left_out_and_the_same_input_is_kept(tiny: dict, tmp_path: Path) -> None:
    folder = shards_of(tiny, tmp_path / "s", ["", TEXTS[0], "  \n", TEXTS[1]])
    assert decoded(tiny, folder) == TEXTS[:2]
    stamp = (folder / "index.json").stat().st_mtime_ns
    shards_of(tiny, folder, ["", TEXTS[0], "  \n", TEXTS[1]])
    assert (folder / "index.json").stat().st_mtime_ns == stamp
    with pytest.raises(TrainerError, match="has something else in it"):
        shards_of(tiny, folder, TEXTS[:3])
    assert decoded(tiny, folder) == TEXTS[:2]


def test_rows_overlap_in_one_token_and_know_their_documents(tiny: dict, tmp_path: Path) -> None:
    (shard,) = open_shards(shards_of(tiny, tmp_path / "s"), verify=False).shards
    width = 32
    rows = [shard.row(index, width) for index in range((len(shard.ids) - 1) // width)]
    assert np.array_equal(np.concatenate([ids[:-1] for ids, _ in rows]), shard.ids[: len(rows) * width])
    starts = {index * width + place for index, (_, places) in enumerate(rows) for place in places.tolist()}
    assert starts == {start for start in shard.starts.tolist() if start <= len(rows) * width}


def truncated(folder: Path) -> None:
    with (folder / "shard-00000.bin").open("r+b") as stream:
        stream.truncate(11)


def flipped(folder: Path) -> None:
    data = bytearray((folder / "shard-00000.bin").read_bytes())
    data[7] ^= 1
    (folder / "shard-00000.bin").write_bytes(data)


def other_lengths(folder: Path) -> None:
    path = folder / "shard-00000.lengths"
    path.write_bytes(path.read_bytes()[4:] + path.read_bytes()[:4])


def removed(folder: Path) -> None:
    (folder / "shard-00000.bin").unlink()


def no_index(folder: Path) -> None:
    (folder / "index.json").unlink()


def half_an_index(folder: Path) -> None:
    path = folder / "index.json"
    path.write_text(path.read_text()[:100])


def another_schema(folder: Path) -> None:
    path = folder / "index.json"
    path.write_text(path.read_text().replace('"schema": 1', '"schema": 2'))


def no_sum(folder: Path) -> None:
    index = json.loads((folder / "index.json").read_text())
    del index["shards"][0]["sha256"]
    (folder / "index.json").write_text(json.dumps(index))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (truncated, "shard-00000.bin: 11 bytes instead of"),
        (flipped, "shard-00000.bin: another sha256 than recorded"),
        (other_lengths, "shard-00000.lengths: another sha256 than recorded"),
        (removed, "shard-00000.bin: No such file"),
        (no_index, "is not a folder of token shards"),
        (half_an_index, "index.json: "),
        (another_schema, "its schema is not 1"),
        (no_sum, "index.json: KeyError"),
    ],
)
def test_damaged_shards_are_told(tiny: dict, tmp_path: Path, damage, said: str) -> None:
    folder = shards_of(tiny, tmp_path / "s")
    damage(folder)
    with pytest.raises(TrainerError) as caught:
        open_shards(folder, verify=True)
    assert said in caught.value.message
    assert str(folder) in caught.value.message
    assert caught.value.remedy


def test_without_verification_sizes_are_still_compared(tiny: dict, tmp_path: Path) -> None:
    folder = shards_of(tiny, tmp_path / "s")
    flipped(folder)
    assert open_shards(folder, verify=False).documents == len(TEXTS)
    truncated(folder)
    with pytest.raises(TrainerError, match="11 bytes"):
        open_shards(folder, verify=False)


BAD = {
    "empty file": ("a.jsonl", b"", "empty-data", "no examples"),
    "only blanks": ("a.jsonl", b'{"text": " "}\n', "empty-data", "only empty texts"),
    "broken line": ("a.jsonl", b'{"text": "x"}\n{"te', "broken-line", "line 2: not JSON"),
    "no column": ("a.jsonl", b'{"text": "x"}\n{"body": "x"}\n', "missing-column", "line 2: no column 'text'; it has"),
    "a number": ("a.jsonl", b'{"text": 3}\n', "bad-column", "line 1: text must be a text"),
    "empty text": ("a.txt", b" \n", "empty-data", "a.txt: no text"),
    "not UTF-8": ("a.txt", b"ab\xff", "unreadable-file", "not UTF-8 at byte 2"),
    "not parquet": ("a.parquet", b"PAR0", "unreadable-file", "a.parquet"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_told_and_leaves_nothing_behind(tiny: dict, tmp_path: Path, case: str) -> None:
    name, content, kind, said = BAD[case]
    (tmp_path / name).write_bytes(content)
    values = {**tiny, "data": [str(tmp_path / name)], "output": str(tmp_path / "s")}
    with pytest.raises(TrainerError) as caught:
        prepare(from_mapping(values, "test"), print)
    assert caught.value.kind == kind
    assert said in caught.value.message
    assert name in caught.value.message
    assert not list(tmp_path.glob("s*"))


def test_a_tokenizer_without_an_end_token_is_told(tiny: dict, tmp_path: Path) -> None:
    folder = tmp_path / "tokenizer"
    shutil.copytree(tiny["tokenizer"], folder)
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text())
    config["eos_token"] = None
    path.write_text(json.dumps(config))
    with pytest.raises(TrainerError, match="no end token"):
        shards_of({**tiny, "tokenizer": str(folder)}, tmp_path / "s")


def test_the_command(tiny: dict, tmp_path: Path, capsys) -> None:
    from trainer.__main__ import main

    source = write_lines(tmp_path / "t.jsonl", [{"text": text} for text in TEXTS])
    line = ["prepare", "--data", str(source), "--tokenizer", tiny["tokenizer"]]
    assert main([*line, "--output", str(tmp_path / "s")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["documents"] == len(TEXTS)
    assert told["kept"] is False
    assert main([*line, "--output", str(tmp_path / "s")]) == 0
    assert json.loads(capsys.readouterr().out)["kept"] is True
    assert main(line) == 1
    assert "prepare needs the folder to write to" in capsys.readouterr().err
