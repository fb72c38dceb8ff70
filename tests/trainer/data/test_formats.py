"""Rows as people have them give the same tokens as the same chat in our own columns; every kind of file is read."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from tests.trainer.conftest import chat, write_lines
from tests.trainer.running import prepare_run
from trainer.data import show
from trainer.data.dialogue import encode_rows
from trainer.data.examples import read_rows
from trainer.data.formats import describe_formats
from trainer.data.located import locate
from trainer.data.mixture import ConcatenatedSources, Mixture
from trainer.data.tokenizer import load_tokenizer
from trainer.errors import TrainerError
from trainer.options.settings import from_mapping


def tokens(row: dict, tiny: dict, **more: object) -> tuple:
    settings = from_mapping({**tiny, **more}, "test")
    ((ids, trained),) = encode_rows([("here", row)], load_tokenizer(settings, None), settings)
    return ids, trained


def messages(*turns: tuple[str, str]) -> dict:
    return {"messages": [{"role": role, "content": text} for role, text in turns]}


ASKED = messages(("system", "be brief"), ("user", "what?\n\nthis"), ("assistant", "that"))
SAME = {
    "sharegpt": {
        "conversations": [
            {"from": "system", "value": "be brief"}, {"from": "human", "value": "what?\n\nthis"},
            {"from": "gpt", "value": "that"},
        ],
    },
    "sharegpt with its system beside it": {
        "system": "be brief",
        "conversations": [{"from": "human", "value": "what?\n\nthis"}, {"from": "gpt", "value": "that"}],
    },
    "alpaca": {"instruction": "what?", "input": "this", "output": "that", "system": "be brief"},
    "alpaca beside its rendering": {
        "prompt": "x", "instruction": "what?", "input": "this", "output": "that", "system": "be brief",
    },
    "question": {"question": "what?", "context": "this", "response": "that", "system_prompt": "be brief"},
    "question in capitals": {"Problem": "what?", "Input": "this", "Solution": "that", "System": "be brief", "id": 7},
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_other_forms_of_a_chat_are_that_chat(tiny: dict, name: str) -> None:
    assert tokens(SAME[name], tiny) == tokens(ASKED, tiny)


def test_an_empty_input_is_none_and_text_is_trained_whole(tiny: dict) -> None:
    row = {"instruction": "what?", "input": "", "output": "that"}
    assert tokens(row, tiny) == tokens(messages(("user", "what?"), ("assistant", "that")), tiny)
    ids, trained = tokens({"text": "the cost of order"}, tiny)
    assert len(ids) > 3
    assert all(trained)
    ids, trained = tokens({"body": "the cost"}, tiny, data_format="text", text_field="body")
    assert all(trained)


def test_a_question_and_its_answer_are_told_by_their_columns(tiny: dict, tmp_path: Path) -> None:
    settings = from_mapping({**tiny, "data": ["x"]}, "test")
    for row, said in (
        ({"input": "what?", "output": "that"}, "question (input, output)"),
        ({"query": "what?", "original_question": "?", "response": "that"}, "question (query, response)"),
        ({"text": "what?", "question": "what?", "answer": "that"}, "text (text)"),
    ):
        write_lines(tmp_path / "rows.jsonl", [row])
        assert list(describe_formats([tmp_path / "rows.jsonl"], settings)) == [said]


def test_a_list_may_stand_in_a_text(tiny: dict) -> None:
    """As in CSV files."""
    assert tokens({"messages": json.dumps(ASKED["messages"])}, tiny) == tokens(ASKED, tiny)
    shared = SAME["sharegpt"]["conversations"]
    assert tokens({"conversations": json.dumps(shared)}, tiny) == tokens(ASKED, tiny)
    with pytest.raises(TrainerError, match="messages must be a list"):
        tokens({"messages": "[{'role'"}, tiny)


@pytest.mark.parametrize("chosen", ["that", ASKED["messages"]])
def test_preferences_are_told_what_can_be_done_with_them(tiny: dict, chosen: object) -> None:
    row = {"prompt": "what?", "chosen": chosen, "rejected": "x"}
    with pytest.raises(TrainerError) as caught:
        tokens(row, tiny)
    said = "completion_field=chosen" if chosen == "that" else "messages_field=chosen"
    assert said in caught.value.remedy
    assert "trl dpo" in caught.value.remedy
    field, _, value = said.partition("=")
    assert tokens(row, tiny, **{field: value})[0]


def test_what_was_detected_can_be_overridden(tiny: dict) -> None:
    both = {**ASKED, "text": "the cost"}
    assert tokens(both, tiny) == tokens(ASKED, tiny)
    assert tokens(both, tiny, data_format="text") == tokens({"text": "the cost"}, tiny)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"conversations": [{"from": "alien", "value": "x"}]}, "conversations must be a list of {from, value}"),
        ({"conversations": "x"}, "conversations must be"), ({"instruction": 3, "output": "x"}, "must be texts"),
        ({"text": 3}, "text must be a text"), ({"question": "x"}, "it has 'question'"),
        ({"question": "x", "answer": 3}, "answer, input and system must be texts"),
    ],
)  # fmt: skip
def test_a_bad_row_is_told(tiny: dict, row: dict, said: str) -> None:
    with pytest.raises(TrainerError) as caught:
        tokens(row, tiny)
    assert said in caught.value.message


def test_a_template_by_name(tiny: dict) -> None:
    settings = from_mapping({**tiny, "chat_template": "plain"}, "test")
    tokenizer = load_tokenizer(settings, None)
    ((ids, trained),) = encode_rows([("here", ASKED)], tokenizer, settings)
    assert tokenizer.decode([i for i, t in zip(ids, trained, strict=True) if t]).strip().startswith("that")
    with pytest.raises(TrainerError, match="nothere"):
        load_tokenizer(from_mapping({**tiny, "chat_template": "nothere"}, "test"), None)


def test_every_kind_of_file_gives_the_same_rows(tmp_path: Path) -> None:
    import datasets
    import pyarrow
    import pyarrow.parquet as parquet

    rows = [{"prompt": f"a {n}", "completion": 'b, "c"\n'} for n in range(5)]
    write_lines(tmp_path / "a.jsonl", rows)
    (tmp_path / "a.json").write_text(json.dumps(rows))
    (tmp_path / "lines.json").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    for name, mark in (("a.csv", ","), ("a.tsv", "\t")):
        with (tmp_path / name).open("w", newline="") as stream:
            writer = csv.DictWriter(stream, ["prompt", "completion"], delimiter=mark)
            writer.writeheader()
            writer.writerows(rows)
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    (tmp_path / "object.json").write_text(json.dumps({"version": 1, "data": rows}))
    (tmp_path / "indented.json").write_text(json.dumps({"train": rows, "authors": [{"name": "x"}]}, indent=2))
    datasets.Dataset.from_list(rows).save_to_disk(tmp_path / "saved")
    settings = from_mapping({"data": [str(tmp_path / "saved")]}, "test")
    (arrow,) = locate(settings, "sft", print)[0].data
    for path in [*tmp_path.glob("*.*"), Path(arrow)]:
        assert [row for _, row in read_rows([path])] == rows, path.name
    (tmp_path / "one.json").write_text(json.dumps(ASKED))
    assert [row for _, row in read_rows([tmp_path / "one.json"])] == [ASKED]
    (tmp_path / "bad.csv").write_text("a,b\n1,2,3\n")
    with pytest.raises(TrainerError, match="line 2: not as many values"):
        list(read_rows([tmp_path / "bad.csv"]))


def test_folders_patterns_and_near_names(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "notes.md"):
        write_lines(tmp_path / name, [chat(2, 3)])

    def names(item: str) -> list[str]:
        found, fetched = locate(from_mapping({"data": [item]}, "test"), "sft", print)
        assert fetched == {}
        return [Path(name).name for name in found.data]

    assert names(str(tmp_path)) == names(str(tmp_path / "*.jsonl")) == ["a.jsonl", "b.jsonl"]
    for item, said in (("*.csv", "no file matches"), ("aa.jsonl", "no such file")):
        with pytest.raises(TrainerError, match=said):
            names(str(tmp_path / item))
    with pytest.raises(TrainerError) as caught:
        names(str(tmp_path / "b.jsnl"))
    assert f"Did you mean {tmp_path / 'b.jsonl'}?" in caught.value.remedy


def test_each_data_set_has_its_weight(tiny: dict, tmp_path: Path) -> None:
    paths = [str(write_lines(tmp_path / f"{k}.jsonl", [chat(2, 4, n + 100 * k) for n in range(8)])) for k in range(3)]
    run = prepare_run({**tiny, "data": paths, "data_weights": ["1", "0.5", "2"]})
    source = run.prepared.source
    counts = np.zeros((2, 24), int)
    for epoch in range(2):
        for row in source.rows(epoch):
            for index in row:
                counts[epoch, index] += 1
    assert counts.sum(0).tolist() == [2] * 8 + [1] * 8 + [4] * 8
    assert counts[0, 8:16].sum() == 4
    with pytest.raises(TrainerError, match="3 numbers above 0"):
        locate(from_mapping({"data": paths, "data_weights": ["1", "0"]}, "test"), "sft", print)
    assert (
        ConcatenatedSources([source.tokens, source.tokens]).example(25)[0].tolist()
        == source.tokens.example(1)[0].tolist()
    )
    assert len(Mixture([8], [0.25], 0)(3)) == 2


def test_examples_are_shown_as_tokens_with_what_is_trained(tiny: dict, tmp_path: Path) -> None:
    settings = from_mapping(tiny, "test")
    tokenizer = load_tokenizer(settings, None)
    path = write_lines(tmp_path / "a.jsonl", [SAME["alpaca"], SAME["sharegpt"]])
    lines = list(show.show_examples([path], tokenizer, settings, 1, colour=False))
    assert len(lines) == 2
    ids, trained = tokens(SAME["alpaca"], tiny)
    assert f"{len(ids)} tokens, {sum(trained)} of them trained" in lines[0]
    assert lines[1].count("▸") == sum(trained)
    coloured = list(show.show_examples([path], tokenizer, settings, 1, colour=True))[1]
    assert coloured.count(show.TRAINED) == sum(trained)
    assert describe_formats([path], settings) == {"alpaca (instruction, input, output, system)": [str(path)]}


# As the families' own templates do it: thoughts only in the last turn (Qwen 3), an end token behind the whole (Phi 3),
# calls of tools as JSON between marks.
TURN = "<|{{ m['role'] }}|>"
CALLS = "{% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}"
THOUGHT = "{% if m['role'] == 'assistant' and loop.last %}<think></think>{% endif %}"
ALL = "{%% for m in messages %%}%s{{ m['content'] }}%s<|end|>{%% endfor %%}%s"
BEGIN = "{% if add_generation_prompt %}<|assistant|>{% endif %}"
TEMPLATES = {
    "thoughts": ALL % (TURN + THOUGHT, CALLS, BEGIN),
    "closing": ALL % (TURN, "", BEGIN + "{% if not add_generation_prompt %}{{ eos_token }}{% endif %}"),
    "tools": "{{ tools | tojson if tools else '' }}" + ALL % (TURN, CALLS, BEGIN),
    "no calls": ALL % (TURN, "", BEGIN),
}
TALK = messages(("user", "what"), ("assistant", "the cost"), ("user", "and"), ("assistant", "the size"))
CALL = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "add", "arguments": {"a": 1}}}]}
WRITTEN = '<call>{"name": "add", "arguments": {"a": 1}}</call><|end|>'
CALLING = {
    "messages": [{"role": "user", "content": "what"}, CALL, {"role": "tool", "content": "3"},
                 {"role": "assistant", "content": [{"type": "text", "text": "the cost"}]}],
    "tools": [{"type": "function", "function": {"name": "add"}}],
}  # fmt: skip


def shown_and_trained(row: dict, values: dict, name: str, tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "t.jinja").write_text(TEMPLATES[name])
    settings = from_mapping({**values, "chat_template": str(tmp_path / "t.jinja")}, "test")
    tokenizer = load_tokenizer(settings, None)
    ((ids, trained),) = encode_rows([("here", row)], tokenizer, settings)
    return tokenizer.decode(ids), tokenizer.decode([i for i, t in zip(ids, trained, strict=True) if t])


@pytest.mark.parametrize(
    ("row", "name", "trained"),
    [
        (TALK, "thoughts", "the cost<|end|><think></think>the size<|end|>"),
        (TALK, "closing", "the cost<|end|>the size<|end|><|end|>"),
        (CALLING, "thoughts", WRITTEN + "<think></think>the cost<|end|>"),
        (CALLING, "tools", WRITTEN + "the cost<|end|>"),
    ],
)  # fmt: skip
def test_templates_that_write_a_turn_otherwise_in_the_middle(
    tiny: dict, tmp_path: Path, row: dict, name: str, trained: str
) -> None:
    whole, found = shown_and_trained(row, tiny, name, tmp_path)
    assert found == trained
    assert ('{"function": {"name": "add"}' in whole or '"type": "function"' in whole) == (name == "tools")


def test_a_call_that_the_template_leaves_out_is_told(tiny: dict, tmp_path: Path) -> None:
    with pytest.raises(TrainerError, match="does not write all of turn 2"):
        shown_and_trained(CALLING, tiny, "no calls", tmp_path)
