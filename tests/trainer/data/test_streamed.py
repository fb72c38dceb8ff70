"""Streamed data: every example once a pass, the same steps from anywhere, and less memory than the data has bytes."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.trainer.conftest import WORDS, write_lines
from tests.trainer.launching import ROOT, environment, finish, start, torchrun
from tests.trainer.running import prepare_run, same, weights
from trainer import loop
from trainer.__main__ import main
from trainer.checkpoints import save
from trainer.checkpoints.resume import restore
from trainer.data.source import Share
from trainer.data.streamed import DialogueStream
from trainer.errors import TrainerError
from trainer.options.settings import from_mapping

COUNT = 60


def row(number: int) -> dict:
    """An example whose number can be read in its completion."""
    return {"prompt": "say", "completion": f" n{number} " + " ".join(WORDS[: 1 + number % 9])}


@pytest.fixture
def streamed(tiny: dict, tmp_path: Path) -> dict:
    """Settings values of a tiny streamed run: 60 examples in three files, buffers of 16."""
    files = [write_lines(tmp_path / f"part-{n}.jsonl", [row(20 * n + i) for i in range(20)]) for n in range(3)]
    return {**tiny, "data": [str(path) for path in files], "streaming": True, "max_steps": 40, "shuffle_buffer": 16,
            "tokens_per_row": 64}  # fmt: skip


def source(values: dict, rank: int = 0, world: int = 1) -> DialogueStream:
    from trainer.data.tokenizer import load_tokenizer

    settings = from_mapping(values, "test")
    made = DialogueStream(
        [Path(name) for name in settings.data], load_tokenizer(settings, None), settings, "test",
    )  # fmt: skip
    made.share = Share(rank, world)
    return made


def numbers(made: DialogueStream, index: int) -> list[int]:
    """Of the examples in a step."""
    found = []
    for batch in made.step(0, index):
        ids = batch.inputs["input_ids"].flatten().tolist()
        text = made._tokenizer.decode(ids, skip_special_tokens=True)
        found += [int(word[1:]) for word in text.split() if word[:1] == "n" and word[1:].isdigit()]
    return found


@pytest.mark.parametrize("packing", [True, False])
def test_a_pass_has_every_example_once_in_another_order_each_time(streamed: dict, packing: bool) -> None:
    made = source({**streamed, "packing": packing, "examples_per_batch": 5})
    seen: list[int] = []
    steps = iter(range(10**6))
    while len(seen) < 2 * COUNT:
        seen += numbers(made, next(steps))
    first, second = seen[:COUNT], seen[COUNT : 2 * COUNT]
    assert sorted(first) == sorted(second) == list(range(COUNT))
    assert first != second
    assert first[:16] != sorted(first[:16])
    assert len({n // 20 for n in first[:16]}) == 1, "a buffer holds neighbours, and no more than it may"


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "csv", "parquet"])
def test_every_step_is_the_same_from_anywhere(streamed: dict, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"all.{ending}"
    rows = [row(n) for n in range(COUNT)]
    if ending == "parquet":
        import pyarrow
        import pyarrow.parquet as parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    elif ending == "csv":
        path.write_text("prompt,completion\n" + "".join(f"{r['prompt']},{r['completion']}\n" for r in rows))
    else:
        import gzip

        text = "\n".join(json.dumps(r) for r in rows).replace("\n", "\n\n", 3).encode()  # empty lines, no end
        path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    values = {**streamed, "data": [str(path)], "output": str(tmp_path / "run")}
    straight = source(values)
    steps = [numbers(straight, index) for index in range(30)]
    index_file = tmp_path / "run" / "stream" / "0.jsonl"
    assert [numbers(source(values), index) for index in (0, 29, 13)] == [steps[0], steps[29], steps[13]]
    with index_file.open("a") as stream:
        stream.write('{"first": 3')  # torn
    assert numbers(source(values), 20) == steps[20]
    index_file.unlink()
    assert numbers(source(values), 20) == steps[20]
    assert numbers(straight, 2) == steps[2], "and backwards"


def test_processes_share_the_examples(streamed: dict, tmp_path: Path) -> None:
    seen = []
    for rank in range(2):
        made = source({**streamed, "output": str(tmp_path / "two")}, rank, 2)
        mine: list[int] = []
        steps = iter(range(10**6))
        while len(mine) < COUNT // 2:
            mine += numbers(made, next(steps))
        seen.append(sorted(mine[: COUNT // 2]))
    assert sorted(seen[0] + seen[1]) == list(range(COUNT))


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(streamed: dict, tmp_path: Path) -> None:
    values = {**streamed, "max_steps": 14, "accumulate": 2, "output": str(tmp_path / "whole")}
    whole = prepare_run(values)
    loop.train(whole, [])
    assert len(whole.history.losses) == 14
    for stop in (1, 5, 9):
        folder = tmp_path / str(stop)
        first = prepare_run({**values, "output": str(folder / "run")})
        first.saver = save.Saver(folder, 2)
        loop.train(first, [lambda counts, run, stop=stop: run.position.step == stop])
        second = prepare_run({**values, "output": str(folder / "run")})
        loop.train(second, [], restore(second, *save.read(save.newest(folder)[0])))
        assert first.history.losses + second.history.losses == whole.history.losses
        assert same(weights(second), weights(whole))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"max_steps": 0}, "streaming needs max_steps"),
        ({"epochs": 2}, "streaming knows no epochs"),
        ({"eval_share": 0.1}, "cannot hold out"),
        ({"data_weights": ["1", "1", "1"]}, "no data_weights"),
        ({"data": ["list.json"]}, "one JSON list"),
        ({"data": ["broken.jsonl"]}, "broken.jsonl, line 2: not JSON"),
        ({"data": ["long.jsonl"]}, "tokens, more than tokens_per_row"),
    ],
)  # fmt: skip
def test_what_cannot_be_streamed_is_said(streamed: dict, tmp_path: Path, monkeypatch, capsys, more, words) -> None:
    monkeypatch.chdir(tmp_path)
    Path("list.json").write_text(json.dumps([row(1), row(2)]))
    Path("broken.jsonl").write_text(json.dumps(row(1)) + "\n{'x'\n")
    write_lines(Path("long.jsonl"), [{"prompt": "say", "completion": "word " * 200}])
    Path("s.json").write_text(json.dumps({**streamed, **more}))
    assert main(["sft", "--config", "s.json"]) == 1
    said = capsys.readouterr().err
    assert words in said[said.index("error: ") :]
    assert "internal" not in said


def test_only_rows_without_an_example_end_the_run(streamed: dict, tmp_path: Path) -> None:
    data = write_lines(tmp_path / "long.jsonl", [{"prompt": "say", "completion": "word " * 200}] * 3)
    made = source({**streamed, "data": [str(data)], "over_long": "skip"})
    with pytest.raises(TrainerError, match="a whole pass over the data has no example"):
        made.step(0, 0)


LARGE, LIMIT = 1800, 1600  # MiB: of the file, and of the address space of the process that trains on it


def large(path: Path) -> None:
    """A file of rows of one MiB each, nearly all of it a column that nobody reads."""
    filler = "x" * (1 << 20)
    with path.open("w") as stream:
        for number in range(LARGE):
            stream.write(json.dumps({**row(number), "text": row(number)["completion"], "filler": filler}) + "\n")


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT << 20, LIMIT << 20))


@pytest.mark.slow
@pytest.mark.parametrize("task", ["sft", "pretrain"])
def test_a_file_larger_than_the_address_space_is_trained_on_and_gone_on_with(
    tiny: dict, tmp_path: Path, task: str
) -> None:
    data = tmp_path / "large.jsonl"
    large(data)
    try:
        assert data.stat().st_size > LIMIT << 20
        common = {**tiny, "data": [str(data)], "streaming": True, "shuffle_buffer": 256, "tokens_per_row": 512,
                  "max_steps": 70, "threads": 1, "log_every": 1, "examples_per_batch": 1}  # fmt: skip
        told = {}
        for name, stops in (("straight", False), ("stopped", True)):
            (tmp_path / f"{name}.json").write_text(json.dumps({**common, "output": str(tmp_path / name)}))
            command = [sys.executable, "-m", "trainer", task, "--config", str(tmp_path / f"{name}.json")]
            env = environment(PYTHONPATH=str(ROOT), MALLOC_ARENA_MAX="2", TOKENIZERS_PARALLELISM="false")
            if stops:
                child = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True, preexec_fn=limited)
                for line in child.stderr:
                    if line.startswith("20/70"):
                        child.send_signal(signal.SIGTERM)
                        break
                said = child.communicate(timeout=120)[1]
                assert child.returncode == 130, said
            done = subprocess.run(
                command, env=env, capture_output=True, text=True, preexec_fn=limited, timeout=170, check=False
            )
            assert done.returncode == 0, done.stderr[-3000:]
            rows = [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
            told[name] = [line["loss"] for line in rows]
        assert len(told["straight"]) == 70
        assert told["straight"] == told["stopped"]
        starts = (tmp_path / "straight" / "stream" / "0.jsonl").read_text().splitlines()[1:]
        assert json.loads(starts[-1])["passes"] >= 1, "all of the file was read"
    finally:
        os.unlink(data)


@pytest.mark.slow
def test_two_processes_stream_and_go_on(streamed: dict, tmp_path: Path) -> None:
    values = {**streamed, "max_steps": 12, "schedule": "constant", "accumulate": 2, "log_every": 1}
    whole = finish(start(torchrun(2), "sft", values, tmp_path / "whole"), tmp_path / "whole")
    part = {**values, "max_steps": 5}
    finish(start(torchrun(2), "sft", part, tmp_path / "part"), tmp_path / "part")
    rest = finish(start(torchrun(2), "sft", values, tmp_path / "part"), tmp_path / "part")
    assert whole["losses"][5:] == rest["losses"]
    assert whole["tokens_per_step"]["trained"] > 0
    assert {path.name for path in (tmp_path / "part" / "run" / "stream").iterdir()} == {"0.jsonl", "1.jsonl"}


def test_the_tokens_of_a_large_vocabulary_are_written_as_they_come(tmp_path: Path) -> None:
    from trainer.data import tokens

    examples = [([1, 2, 3], [0, 1, 1]), ([70000, 5], [1, 0]), ([4], [1])]
    found, kept = tokens.cached_tokens(tmp_path / "wide", lambda: iter(examples))
    assert (kept, str(found.ids.dtype)) == (False, "uint32")
    assert [found.example(n)[0].tolist() for n in range(3)] == [ids for ids, _ in examples]
    assert [found.example(n)[1].tolist() for n in range(3)] == [marks for _, marks in examples]
    assert not (tmp_path / "wide" / "tokens.wide").exists()
    narrow, _ = tokens.cached_tokens(tmp_path / "narrow", lambda: iter(examples[:1]))
    assert str(narrow.ids.dtype) == "uint16"


def test_where_no_example_is_left_the_reason_is_said_and_no_disk_is_blamed(tmp_path: Path) -> None:
    from trainer.data import tokens

    with pytest.raises(TrainerError, match=r"no example is left: each is longer than tokens_per_row"):
        tokens.cached_tokens(tmp_path / "none", lambda: iter(()))
    assert list(tmp_path.iterdir()) == []
