"""Chats of other lengths for the comparison: how they are made, and what becomes of those longer than a row."""

from __future__ import annotations

import argparse
import json
import sysconfig
from pathlib import Path

import pytest
from trainer.data.tokenizer import load_tokenizer
from trainer.data.workloads import find
from trainer.options.settings import from_mapping

from tests.benchmarks import chatsets, peers, side_prepare, two_processes

SOURCE = '''"""Coins and purses, for those who count them often and want to know how much there is of each.

And where it lies, which is not told in a line.
"""
class Purse(object):
    """Holds coins."""
    def weigh(self, scale=None, *, exact=False):
        """Weigh all coins.

        %s
        """
    def _hidden(self):
        """Not told."""
def lose(purse): ...
''' % ("The scale decides. " * 20)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A library of one module, and what is not to be read of it."""
    root = tmp_path / "library"
    (root / "test").mkdir(parents=True)
    (root / "coins.py").write_text(SOURCE)
    (root / "_coins.py").write_text(SOURCE)
    (root / "test" / "coins.py").write_text(SOURCE)
    (root / "template.py").write_text("{{ name }} = (\n")
    return root


def contents(path: Path) -> list[list[str]]:
    return [[turn["content"] for turn in json.loads(line)["messages"]] for line in path.read_text().splitlines()]


def test_entries_are_the_public_ones_with_a_text(library: Path) -> None:
    found = [(entry.kind, entry.written) for entry in chatsets.entries(library)]
    assert found == [
        ("module", "coins"), ("class", "coins.Purse"),
        ("function", "coins.Purse.weigh(self, scale=None, *, exact=False)"),
    ]  # fmt: skip


def test_a_long_answer_is_the_whole_text_and_a_short_one_its_first_line(library: Path, tmp_path: Path) -> None:
    known = chatsets.entries(library)
    long = [chat for chat in chatsets.documentation(known, chatsets.random.Random(0)) if "weigh" in chat[0]["content"]]
    assert long[0][1]["content"].startswith("Weigh all coins.\n\nThe scale decides. The scale")
    assert len(known) == 3
    short = [turn["content"] for chat in chatsets.turns(known, chatsets.random.Random(0)) for turn in chat]
    assert sorted(short) == [
        "Coins and purses, for those who count them often and want to know how much there is of each.", "Holds coins.",
        "Weigh all coins.", "`coins.Purse.weigh`?", "`coins.Purse`?", "`coins`?",
    ]  # fmt: skip


@pytest.mark.parametrize("name", list(chatsets.SETS))
def test_the_same_python_writes_the_same_bytes_and_the_trainer_reads_them(name: str, tmp_path: Path) -> None:
    root = Path(sysconfig.get_path("stdlib")) / "json"
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    assert chatsets.written(name, first, 20, root) == chatsets.written(name, second, 20, root)
    assert first.read_bytes() == second.read_bytes()
    assert all(len(chat) % 2 == 0 and all(chat) for chat in contents(first))
    facts = prepared(first, tmp_path / "shared")
    assert facts["examples"] + facts["left_out"] == len(contents(first)) > 0


def prepared(data: Path | None, folder: Path) -> dict:
    folder.mkdir()
    order = {"workload": "chat-5m", "config": peers.SIZES["toy"].config, "folder": str(folder),
             "data": str(data) if data else None}  # fmt: skip
    (folder / "order.json").write_text(json.dumps(order))
    side_prepare.main(str(folder / "order.json"))
    return json.loads((folder / "facts.json").read_text())


def test_a_row_of_the_bundled_chats_is_as_long_as_it_was_timed_with(tmp_path: Path) -> None:
    facts = prepared(None, tmp_path / "shared")
    assert (facts["tokens_per_row"], facts["left_out"]) == (peers.TOKENS_PER_ROW, 0)
    assert (facts["examples"], facts["tokens"]) == (998, 182566)  # as in every record


def test_what_is_longer_than_a_row_is_left_out_on_every_side(tmp_path: Path) -> None:
    def row(words: int) -> dict:
        return {"instruction": "How many?", "output": "many " * words}

    rows = [row(words) for words in (20, 30, 40) * 10 + (3000,)]
    (tmp_path / "alpaca.json").write_text(json.dumps(rows))  # whatever the trainer reads
    facts = prepared(tmp_path / "alpaca.json", tmp_path / "shared")
    assert (facts["examples"], facts["left_out"]) == (30, 1)
    assert facts["tokens_per_row"] == pytest.approx(8 * facts["tokens"] / 30, abs=32)
    shared = tmp_path / "shared"
    settings = from_mapping({"workload": "chat-5m"}, "test")
    tokenizer = load_tokenizer(settings, find("chat-5m"))
    for chat, tokens in zip(*((shared / name).read_text().splitlines() for name in ("chat.jsonl", "examples.jsonl"))):
        assert json.loads(chat)["output"].strip() in tokenizer.decode(json.loads(tokens)["input_ids"])


def test_a_row_is_never_longer_than_the_model_takes() -> None:
    assert side_prepare.row_size([900, 1000, 1100], 8192) == 8000
    assert side_prepare.row_size([900, 1000, 1100], 2048) == 2048
    assert side_prepare.row_size([10] * 99 + [5000], 8192) == 96  # 80 in steps of 32, once the long one is left out


def test_trl_packs_rows_as_long_as_ours_and_cuts_none_elsewhere() -> None:
    assert peers.trl_arguments("packed", 96)["max_length"] == 96
    assert peers.trl_arguments("padded", 96)["max_length"] is None


def test_rounds_of_other_chats_or_machines_are_not_added(tmp_path: Path) -> None:
    target = tmp_path / "peers.json"
    chats = tmp_path / "chats.jsonl"
    chats.write_text("{}")
    now = peers.circumstances("no-python", argparse.Namespace(data=chats))
    assert now["data"]["file"] == "chats.jsonl"
    assert now["cores"] > 0
    target.write_text(json.dumps({**now, "commands": ["earlier"], "sizes": {"5m": 1}}))
    assert peers.recorded(target, now) == {**now, "commands": ["earlier", *now["commands"]], "sizes": {"5m": 1}}
    assert peers.recorded(tmp_path / "none.json", now) == now
    for name, other in (("data", None), ("cpu", "another"), ("versions", {"torch": "0"})):
        with pytest.raises(SystemExit, match=f"other {name};"):
            peers.recorded(target, {**now, name: other})


def test_paces_of_another_machine_are_not_added(tmp_path: Path) -> None:
    target = tmp_path / "two.json"
    now = {name: name for name in two_processes.SAME}
    target.write_text(json.dumps({**now, "real_tokens_per_second": {"a": [1.0]}}))
    assert two_processes.earlier(target, now) == {"a": [1.0]}
    with pytest.raises(SystemExit, match="another cpu"):
        two_processes.earlier(target, {**now, "cpu": "another"})
    assert two_processes.ratios([1.0, 2.0], [1.0, 5.0], 2) == [0.5, 1.25]
