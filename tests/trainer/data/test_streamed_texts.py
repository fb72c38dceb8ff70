"""Streamed pretraining: each token once a pass, the same rows from anywhere, and the same bits after a stop."""

from __future__ import annotations

import gzip
import itertools
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.trainer.conftest import WORDS, write_lines
from tests.trainer.data.test_hub import SHORT, hub, runs  # noqa: F401 - a fixture
from tests.trainer.data.test_shards import shards_of, words
from tests.trainer.launching import ROOT, environment, finish, start, torchrun
from tests.trainer.loopbackhub import Hub
from tests.trainer.running import same, weights
from tests.trainer.test_pretrain import run_of
from trainer import loop
from trainer.__main__ import main
from trainer.checkpoints import save
from trainer.checkpoints.resume import restore
from trainer.data import streamedtexts
from trainer.data.examples import rows_from
from trainer.data.source import Share
from trainer.data.streamedtexts import TextStream
from trainer.data.texts import encode_texts
from trainer.data.tokenizer import load_tokenizer
from trainer.errors import TrainerError
from trainer.options.settings import from_mapping

WIDTH = 24


def row(number: int) -> dict:
    return {"text": f"n{number} " + words(3 + (7 * number) % 29, number)}


@pytest.fixture
def texts(tiny: dict, tmp_path: Path) -> dict:
    """Settings values of a tiny streamed run: 60 texts in three files, buffers of 16, batches of two rows."""
    files = [write_lines(tmp_path / f"part-{n}.jsonl", [row(20 * n + i) for i in range(20)]) for n in range(3)]
    return {**tiny, "data": [str(path) for path in files], "streaming": True, "max_steps": 40, "shuffle_buffer": 16,
            "tokens_per_row": WIDTH, "examples_per_batch": 2, "separate_documents": False}  # fmt: skip


def source(values: dict, rank: int = 0, world: int = 1) -> TextStream:
    settings = from_mapping(values, "test")
    made = TextStream([Path(name) for name in settings.data], load_tokenizer(settings, None), settings, "test")
    made.share = Share(rank, world)
    return made


def rows_of(made: TextStream, index: int) -> list[tuple[int, ...]]:
    """Each row of a step: what goes in, and the last token that is asked for."""
    found = []
    for batch in made.step(0, index):
        ids = batch.inputs["input_ids"].reshape(-1, WIDTH)
        last = batch.targets.reshape(-1, WIDTH)[:, -1:]
        found += [tuple(one.tolist()) for one in np.concatenate([ids, last], 1)]
    return found


def line_of(values: dict, passes: int) -> list[int]:
    """All documents of a pass end to end, in the order of one file, so many times."""
    tokenizer = load_tokenizer(from_mapping(values, "test"), None)
    return [one for ids in encode_texts([Path(values["data"][0])], tokenizer, "text") for one in ids] * passes


@pytest.mark.parametrize("buffer", [1, 16, 1000])
def test_a_pass_is_every_token_once_and_the_next_one_goes_on_behind_it(
    texts: dict, tmp_path: Path, buffer: int
) -> None:
    path = write_lines(tmp_path / "all.jsonl", [row(n) for n in range(60)])
    values = {**texts, "data": [str(path)], "shuffle_buffer": buffer}
    made, line = source(values), line_of(values, 4)
    cut = [tuple(line[low : low + WIDTH + 1]) for low in range(0, len(line) - WIDTH, WIDTH)]
    seen: list[tuple[int, ...]] = []
    while len(seen) < 0.7 * len(cut):
        seen += rows_of(made, len(seen) // 2)
    ends = [2 * begin.first for begin in made._starts]
    for low, high in itertools.pairwise(ends):
        if high <= len(seen):
            assert sorted(seen[low:high]) == sorted(cut[low:high]), "a buffer holds neighbours, and all of them"
    assert len(ends) > 2
    assert made._starts[-1].passes >= 2
    if buffer > 1:
        assert seen != cut[: len(seen)]


def test_a_text_longer_than_a_buffer_is_gone_through(texts: dict, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(streamedtexts, "TOKENS", 200)
    monkeypatch.setattr("trainer.data.texts.CHARACTERS", 300)
    path = write_lines(tmp_path / "long.jsonl", [{"text": words(400)}, {"text": "  "}, row(3), {"text": words(300, 5)}])
    values = {**texts, "data": [str(path)]}
    straight, line = source(values), line_of(values, 3)
    seen = [one for index in range(30) for one in rows_of(straight, index)]
    cut = [tuple(line[low : low + WIDTH + 1]) for low in range(0, len(line) - WIDTH, WIDTH)]
    assert max(begin.skip for begin in straight._starts) > 200
    end = max(begin.first for begin in straight._starts if begin.first <= 30)
    assert sorted(seen[: 2 * end]) == sorted(cut[: 2 * end])
    assert rows_of(source(values), 17) == seen[34:36]


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "csv", "parquet", "arrow", "txt"])
def test_every_step_is_the_same_from_anywhere(texts: dict, tmp_path: Path, ending: str) -> None:
    path, rows = tmp_path / f"all.{ending}", [row(n) for n in range(60)]
    if ending in ("parquet", "arrow"):
        import pyarrow
        from pyarrow import parquet

        table = pyarrow.Table.from_pylist(rows)
        if ending == "parquet":
            parquet.write_table(table, path, row_group_size=7)
        else:
            with pyarrow.ipc.new_stream(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=9)
    elif ending == "csv":
        path.write_text("text\n" + "".join(f"{one['text']}\n" for one in rows))
    elif ending == "txt":
        path.write_text("\n".join(one["text"] for one in rows))
    else:
        text = "\n".join(json.dumps(one) for one in rows).replace("\n", "\n\n", 3).encode()  # empty lines, no end
        path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    values = {**texts, "data": [str(path)], "output": str(tmp_path / "run")}
    straight = source(values)
    steps = [rows_of(straight, index) for index in range(90)]
    assert straight._starts[-1].passes >= 1
    index_file = tmp_path / "run" / "stream" / "0.jsonl"
    assert [rows_of(source(values), index) for index in (0, 89, 33)] == [steps[0], steps[89], steps[33]]
    with index_file.open("a") as stream:
        stream.write('{"first": 3')  # torn
    assert rows_of(source(values), 60) == steps[60]
    index_file.unlink()
    assert rows_of(source(values), 60) == steps[60]
    assert rows_of(straight, 2) == steps[2], "and backwards"
    if ending == "jsonl":
        assert sorted(steps[0] + steps[1]) != sorted(rows_of(source({**values, "seed": 1}), 0) + steps[1])


def test_what_lies_before_a_place_in_parquet_is_not_read(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.Table.from_pylist([row(n) for n in range(40)]), path, row_group_size=10)
    content = bytearray(path.read_bytes())
    group = parquet.ParquetFile(path).metadata.row_group(2).column(0)
    content[4 : group.data_page_offset - 200] = bytes(group.data_page_offset - 204)  # what is before it is lost
    path.write_bytes(content)
    found = list(rows_from(path, 33))
    assert [place.rpartition(" ")[2] for place, _ in found] == [str(n) for n in range(34, 41)]
    assert [one for _, one in found] == [row(n) for n in range(33, 40)]
    with pytest.raises(TrainerError):
        list(rows_from(path, 0))


def test_processes_share_the_texts(texts: dict, tmp_path: Path) -> None:
    """Each has its own line: that of every second text."""
    path = write_lines(tmp_path / "all.jsonl", [row(n) for n in range(60)])
    for rank in range(2):
        values = {**texts, "data": [str(path)], "output": str(tmp_path / "two")}
        made = source(values, rank, 2)
        mine = write_lines(tmp_path / f"{rank}.jsonl", [row(n) for n in range(rank, 60, 2)])
        line = line_of({**values, "data": [str(mine)]}, 2)
        while len(made._starts) < 3:
            made.step(0, made._starts[-1].first if made._starts else 0)
        count = 2 * made._starts[-1].first
        seen = [one for index in range(count // 2) for one in rows_of(made, index)]
        assert sorted(seen) == sorted(tuple(line[low : low + WIDTH + 1]) for low in range(0, count * WIDTH, WIDTH))


def test_documents_are_kept_apart_as_in_shards(texts: dict, tmp_path: Path) -> None:
    """The same rows, positions and targets as from prepared shards of the same texts, in another order."""
    from trainer.tasks.pretrain import Pretrain

    data = [{"text": words(3 + (7 * n) % 29, n)} for n in range(60)]
    folder = shards_of({**texts, "streaming": False}, tmp_path / "s", [one["text"] for one in data])
    values = {**texts, "separate_documents": True, "examples_per_batch": 1, "shuffle_buffer": 1000}
    streamed = Pretrain().prepare(from_mapping({**values, "data": [str(folder.with_suffix(".jsonl"))]}, "test"), None)
    plain = from_mapping({**values, "streaming": False, "data": [str(folder)]}, "test")
    mapped = Pretrain().prepare(plain, None).source

    def told(batch) -> tuple:
        return (*batch.inputs["input_ids"][0].tolist(), -1, *batch.inputs["position_ids"][0].tolist(), -1,
                *batch.positions.tolist(), -1, *batch.targets.tolist(), -1, *batch.lengths)  # fmt: skip

    count = mapped.steps_in(0)
    assert count > 20
    ours, theirs = ([told(one.step(0, index)[0]) for index in range(count)] for one in (streamed.source, mapped))
    assert sorted(ours) == sorted(theirs)
    assert ours != theirs


@pytest.mark.slow
@pytest.mark.parametrize("packing", [True, False])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(texts: dict, tmp_path: Path, packing: bool) -> None:
    values = {**texts, "max_steps": 40, "accumulate": 2, "packing": packing, "output": str(tmp_path / "whole")}
    whole = run_of(values)
    loop.train(whole, [])
    assert len(whole.history.losses) == 40
    assert whole.prepared.source._starts[-1].passes >= 1
    for stop in (1, 7, 25):
        folder = tmp_path / str(stop)
        first = run_of({**values, "output": str(folder / "run")})
        first.saver = save.Saver(folder, 2)
        loop.train(first, [lambda counts, run, stop=stop: run.position.step == stop])
        second = run_of({**values, "output": str(folder / "run")})
        loop.train(second, [], restore(second, *save.read(save.newest(folder)[0])))
        assert first.history.losses + second.history.losses == whole.history.losses
        assert same(weights(second), weights(whole))


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_to_the_same_losses(texts: dict, tmp_path: Path) -> None:
    values = {**texts, "max_steps": 80, "log_every": 1, "checkpoint_every": 5, "eval_data": [texts["data"][0]],
              "eval_every": 20}  # fmt: skip
    finish(start([sys.executable, "-m", "trainer"], "pretrain", values, tmp_path / "whole"), tmp_path / "whole")
    child = start([sys.executable, "-m", "trainer"], "pretrain", values, tmp_path / "killed")
    for line in child.stderr:
        if line.startswith(("23/80", "24/80", "25/80")):
            child.send_signal(signal.SIGKILL)
            break
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    finish(start([sys.executable, "-m", "trainer"], "pretrain", values, tmp_path / "killed"), tmp_path / "killed")
    found = {}
    for name in ("whole", "killed"):
        lines = [json.loads(line) for line in (tmp_path / name / "run" / "metrics.jsonl").read_text().splitlines()]
        found[name] = {line["step"]: line["loss"] for line in lines if "loss" in line}
        lines = [json.loads(line) for line in (tmp_path / name / "run" / "evaluations.jsonl").read_text().splitlines()]
        found[name].update({-line["step"]: line["eval_loss"] for line in lines})
    assert found["whole"] == found["killed"]
    assert len(found["whole"]) == 84, "each step, and the evaluations"
    decided = ["--config", str(tmp_path / "whole" / "run" / "config.yaml"), "--output", str(tmp_path / "again")]
    again = [sys.executable, "-m", "trainer", "pretrain", *decided]
    done = subprocess.run(again, env=environment(PYTHONPATH=str(ROOT)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (tmp_path / "again" / "metrics.jsonl").read_text().splitlines()]
    assert {line["step"]: line["loss"] for line in lines}.items() <= found["whole"].items()


@pytest.mark.slow
def test_two_processes_stream_and_go_on(texts: dict, tmp_path: Path) -> None:
    values = {**texts, "max_steps": 12, "schedule": "constant", "accumulate": 2, "log_every": 1}
    whole = finish(start(torchrun(2), "pretrain", values, tmp_path / "whole"), tmp_path / "whole")
    finish(start(torchrun(2), "pretrain", {**values, "max_steps": 5}, tmp_path / "part"), tmp_path / "part")
    rest = finish(start(torchrun(2), "pretrain", values, tmp_path / "part"), tmp_path / "part")
    assert whole["losses"][5:] == rest["losses"]
    assert {path.name for path in (tmp_path / "part" / "run" / "stream").iterdir()} == {"0.jsonl", "1.jsonl"}


def fill_hub(hub: Hub, name: str, ending: str) -> list[Path]:  # noqa: F811
    """A data set of three files of texts."""
    folder = hub.root / "datasets" / "lab" / name
    folder.mkdir(parents=True)
    found = [folder / f"train-{part:05d}-of-00003.{ending}" for part in range(3)]
    for part, path in enumerate(found):
        rows = [row(20 * part + n) for n in range(20)]
        if ending == "parquet":
            import pyarrow
            from pyarrow import parquet

            parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=6)
        elif ending == "csv":
            path.write_text("text\n" + "".join(f"{one['text']}\n" for one in rows))
        else:
            text = "".join(json.dumps(one) + "\n" for one in rows).encode()
            path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "jsonl", "json.gz"])
def test_a_data_set_of_the_hub_is_read_where_it_lies(hub: Hub, tmp_path: Path, ending: str) -> None:  # noqa: F811
    """The losses of its files on a disk, in one go and after a stop; and nothing of it comes to the disk."""
    home, name = tmp_path / "home", f"texts-{ending.replace('.', '-')}"
    home.mkdir()
    files = fill_hub(hub, name, ending)
    more = ["--tokens_per_row", "24", "--examples_per_batch", "2", "--shuffle_buffer", "16", "--device", "cpu",
            "--threads", "1", "--schedule", "constant", "--precision", "float32", "--log_every", "1"]  # fmt: skip
    line = ["pretrain", "--model", "lab/tiny-chat", "--streaming", *more, "--data"]
    there, here = [*line, f"lab/{name}@train"], [*line, *map(str, files)]
    told = {}
    commands = []
    for kind, begin, steps in (("straight", there, 40), ("part", there, 13), ("part", there, 40), ("disk", here, 40)):
        commands.append([*begin, "--max_steps", str(steps), "--output", str(home / kind)])
    shown = [
        "pretrain",
        "--model",
        "lab/tiny-chat",
        "--streaming",
        "--data",
        f"lab/{name}",
        "--show",
        "1",
        "--max_steps",
        "1",
    ]
    for code, said in runs(hub, home, *commands, shown):
        assert code == 0, said
        assert "Traceback" not in said
    for kind in ("straight", "part", "disk"):
        lines = [json.loads(one) for one in (home / kind / "metrics.jsonl").read_text().splitlines()]
        told[kind] = [one["loss"] for one in lines]
    assert len(told["straight"]) == 40
    assert told["straight"] == told["part"] == told["disk"]
    assert json.loads((home / "straight" / "stream" / "0.jsonl").read_text().splitlines()[-1])["passes"] >= 1
    kept = [path for path in home.rglob("*train-0*") if path.is_file()]
    assert {path.name for path in kept} == {path.name + ".remote" for path in files}
    large = [path for path in home.rglob("*") if path.is_file() and b"limits" in path.read_bytes()[:2000]]
    assert not large, "no text of it is on the disk"


@pytest.mark.slow
def test_what_cannot_be_read_on_the_hub_is_fetched_or_said(hub: Hub, tmp_path: Path) -> None:  # noqa: F811
    home = tmp_path / "home"
    home.mkdir()
    fill_hub(hub, "commas", "csv")
    fill_hub(hub, "lines", "jsonl")
    line = ["pretrain", "--model", "lab/tiny-chat", "--streaming", *SHORT, "--data"]
    wanted = ("lab/commas", "lab/lines[:9]", "lab/lines@train[:9]", "lab/lines@nowhere", "lab/none")
    (csv, bad, some, split, none) = runs(hub, home, *[[*line, name] for name in wanted])
    assert csv[0] == some[0] == 0, csv[1] + some[1]
    assert "it is fetched as a whole" in csv[1]
    assert "fetching lab/lines@train[:9]" in some[1]
    assert (bad[0], split[0], none[0]) == (1, 1, 1)
    assert "train" in split[1][split[1].index("error: ") :]
    assert "no data set of this name on the Hub" in none[1]
    hub.broken = "train-00001-of-00003.jsonl"
    try:
        ((code, said),) = runs(hub, home, [*line, "lab/lines"], HF_HUB_DOWNLOAD_TIMEOUT="2")
    finally:
        hub.broken = ""
    assert code == 1
    assert "Traceback" not in said
    assert "lab/lines" in said[said.index("error: ") :]


@pytest.mark.parametrize(
    ("more", "words_said"),
    [
        ({"max_steps": 0}, "streaming needs max_steps"),
        ({"epochs": 2}, "streaming knows no epochs"),
        ({"eval_share": 0.1}, "cannot hold out"),
        ({"data": ["shards"]}, "shards is a folder of token shards"),
        ({"data": []}, "no data"),
        ({"data": ["list.json"]}, "one JSON list"),
        ({"data": ["broken.jsonl"]}, "broken.jsonl, line 2: not JSON"),
        ({"data": ["torn.jsonl.gz"]}, "torn.jsonl.gz: "),
        ({"data": ["other.jsonl"]}, "other.jsonl, line 1: no column 'text'; it has 'words'"),
        ({"data": ["blank.jsonl"]}, "a whole pass over the data has no example"),
        ({"packing": False, "separate_documents": True}, "cannot keep their documents apart"),
    ],
)  # fmt: skip
def test_what_cannot_be_streamed_is_said(texts: dict, tmp_path: Path, monkeypatch, capsys, more, words_said) -> None:
    monkeypatch.chdir(tmp_path)
    shards_of({**texts, "streaming": False}, Path("shards"))
    Path("list.json").write_text(json.dumps([row(1), row(2)]))
    Path("broken.jsonl").write_text(json.dumps(row(1)) + "\n{'x'\n")
    Path("torn.jsonl.gz").write_bytes(gzip.compress(json.dumps(row(1)).encode() * 99)[:-20])
    write_lines(Path("other.jsonl"), [{"words": "x"}])
    write_lines(Path("blank.jsonl"), [{"text": "  "}] * 3)
    Path("s.json").write_text(json.dumps({**texts, **more}))
    assert main(["pretrain", "--config", "s.json"]) == 1
    said = capsys.readouterr().err
    assert words_said in said[said.index("error: ") :]
    assert "internal" not in said
    assert "Traceback" not in said


def test_texts_and_shards_are_shown_as_the_model_gets_them(texts: dict, tmp_path: Path, capsys) -> None:
    data = write_lines(tmp_path / "t.jsonl", [{"text": "the cost"}, {"text": " "}, {"text": WORDS[3]}])
    shards_of({**texts, "streaming": False}, tmp_path / "s", ["the cost", WORDS[3]])
    given = ["--tokenizer", texts["tokenizer"], "--show", "2", "--data"]
    shown = []
    for name in (str(data), str(tmp_path / "s")):
        assert main(["pretrain", *given, name]) == 0
        shown.append(capsys.readouterr().out.splitlines())
    assert shown[0][0].startswith(f"{data}, line 1: ")
    assert shown[0][2].startswith(f"{data}, line 3: ")
    assert shown[1][0].startswith(f"{tmp_path / 's'}, document 1: ")
    assert shown[0][1::2] == shown[1][1::2]
    assert "▸·cost|" in shown[0][1]
