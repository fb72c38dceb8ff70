"""Background uploads through real fsspec file systems, with stores that are slow or fail."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import threading
from pathlib import Path

import fsspec
import pytest
import torch

from tests.trainer.conftest import write_lines
from trainer.checkpoints import save, upload
from trainer.checkpoints.upload import Uploader
from trainer.errors import TrainerError


def checkpoint(folder: Path, step: int) -> Path:
    tensors = {"model": {"w": torch.full((1000,), float(step))}}
    return save.write(folder / "c", save.folder_name(step, 0), tensors, {"step": step}, keep=2)


def uploader(url: str, folder: Path, said: list, compression: str = "none", attempts: int = 3) -> Uploader:
    return Uploader(url, compression, attempts, said.append, folder / "staging")


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "FIRST_PAUSE", 0.01)


@pytest.fixture
def memory():
    store = fsspec.filesystem("memory")
    store.store.clear()
    yield store
    store.store.clear()


@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_a_checkpoint_arrives_whole_and_loads(tmp_path: Path, memory, scheme: str) -> None:
    url = f"file://{tmp_path}/far" if scheme == "file" else "memory://far"
    said: list = []
    sender = uploader(url, tmp_path, said)
    sender.send(checkpoint(tmp_path, 7), {"step": 7, "loss": 1.5})
    assert sender.close(30)
    store, root = fsspec.core.url_to_fs(url)
    copy = tmp_path / "back"
    store.get(f"{root}/step-00000007", str(copy), recursive=True)
    described = json.loads((copy / "metadata.json").read_text())
    assert (described["step"], described["loss"]) == (7, 1.5)
    assert set(described["files"]) == {"MANIFEST.json", "model.safetensors", "state.json"}
    for name, entry in described["files"].items():
        data = (copy / name).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (entry["size"], entry["sha256"])
    assert save._fault(copy) is None
    assert torch.equal(save.read(copy)[1]["model"]["w"], torch.full((1000,), 7.0))
    assert [entry["name"] for entry in sender.done] == ["step-00000007"]
    assert sender.failed == said == []
    assert not (tmp_path / "staging").exists()


@pytest.mark.parametrize("compression", ["tar.gz", "tar.zst"])
def test_archives_unpack_to_the_same_files(tmp_path: Path, compression: str) -> None:
    import pyarrow

    original = checkpoint(tmp_path, 3)
    sender = uploader(f"file://{tmp_path}/far", tmp_path, [], compression)
    sender.send(original, {"step": 3})
    assert sender.close(30)
    assert sender.failed == []
    assert sorted(p.name for p in (tmp_path / "far").iterdir()) == [
        "step-00000003.json",
        f"step-00000003.{compression}",
    ]
    packed = tmp_path / "far" / f"step-00000003.{compression}"
    described = json.loads((tmp_path / "far" / "step-00000003.json").read_text())
    assert described["files"][packed.name]["sha256"] == hashlib.sha256(packed.read_bytes()).hexdigest()
    if compression == "tar.gz":
        stream = io.BytesIO(packed.read_bytes())
    else:
        stream = io.BytesIO(pyarrow.CompressedInputStream(str(packed), "zstd").read())
    with tarfile.open(fileobj=stream, mode="r:*") as tar:
        for path in original.iterdir():
            assert tar.extractfile(f"step-00000003/{path.name}").read() == path.read_bytes()


def test_removed_checkpoints_are_still_sent_and_only_one_is_under_way(tmp_path: Path, memory, monkeypatch) -> None:
    """While the first is held up, two more finish: the newest follows, the other is left out and named."""
    gate, entered = threading.Event(), threading.Event()
    plain, at_once = type(memory).put_file, []

    def slow(self, *arguments, **options):
        at_once.append(1)
        entered.set()
        assert gate.wait(30)
        plain(self, *arguments, **options)
        at_once.pop()
        assert not at_once

    monkeypatch.setattr(type(memory), "put_file", slow)
    said: list = []
    sender = uploader("memory://far", tmp_path, said)
    sender.send(checkpoint(tmp_path, 1), {})
    assert entered.wait(30)
    for step in (2, 3):
        sender.send(checkpoint(tmp_path, step), {})
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == ["step-00000002", "step-00000003"]
    assert sender.busy == "step-00000001"
    gate.set()
    assert sender.close(30)
    assert [entry["name"] for entry in sender.done] == ["step-00000001", "step-00000003"]
    assert sender.left_out == ["step-00000002"]
    assert "step-00000002 left out" in said[0]
    assert memory.exists("far/step-00000001/metadata.json")
    assert not memory.exists("far/step-00000002")


def failing(memory, monkeypatch, times: int) -> list:
    plain, calls = type(memory).put_file, []

    def fail(self, source, target, *arguments, **options):
        calls.append(target)
        if len(calls) <= times:
            raise ConnectionError("the store is away")
        plain(self, source, target, *arguments, **options)

    monkeypatch.setattr(type(memory), "put_file", fail)
    return calls


def test_a_failed_upload_is_tried_again(tmp_path: Path, memory, monkeypatch) -> None:
    failing(memory, monkeypatch, 2)
    said: list = []
    sender = uploader("memory://far", tmp_path, said)
    sender.send(checkpoint(tmp_path, 1), {})
    assert sender.close(30)
    assert sender.done[0]["attempts"] == 3
    assert len(said) == 2
    assert "attempt 1 failed: ConnectionError: the store is away" in said[0]


def test_one_that_never_works_is_reported_and_the_next_is_sent(tmp_path: Path, memory, monkeypatch) -> None:
    failing(memory, monkeypatch, 3)
    said: list = []
    sender = uploader("memory://far", tmp_path, said)
    sender.send(checkpoint(tmp_path, 1), {})
    while not sender.failed:
        threading.Event().wait(0.01)
    sender.send(checkpoint(tmp_path, 2), {})
    assert sender.close(30)
    assert [entry["name"] for entry in sender.failed] == ["step-00000001"]
    assert "3 attempts" in sender.failed[0]["error"]
    assert [entry["name"] for entry in sender.done] == ["step-00000002"]
    assert not memory.exists("far/step-00000001/metadata.json")  # nothing there claims to be whole


def test_an_upload_that_hangs_does_not_hold_the_end_of_the_run(tmp_path: Path, memory, monkeypatch) -> None:
    gate = threading.Event()
    monkeypatch.setattr(type(memory), "put_file", lambda *arguments, **options: gate.wait(60))
    said: list = []
    sender = uploader("memory://far", tmp_path, said)
    sender.send(checkpoint(tmp_path, 1), {})
    assert sender.close(0.2) is False
    assert "step-00000001 was not uploaded to memory://far: not finished 0.2 s after the end" in said[-1]
    gate.set()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nowhere://bucket/x", "nowhere"),
        ("just/a/folder", "is not a URL"),
        ("s3://bucket/x", "s3fs"),
    ],
)
def test_a_url_that_cannot_work_is_told_before_training(url: str, said: str) -> None:
    with pytest.raises(TrainerError, match=said) as caught:
        upload.check(url, "none")
    assert caught.value.kind == "bad-url"
    assert caught.value.remedy


def pretraining(tiny: dict, tmp_path: Path, **more) -> tuple[list, Path]:
    from tests.trainer.data.test_shards import shards_of

    folder = shards_of(tiny, tmp_path / "shards")
    values = {**tiny, "data": [str(folder)], "tokens_per_row": 32, "examples_per_batch": 4, "checkpoint_every": 3}
    config, report = tmp_path / "settings.json", tmp_path / "report.json"
    config.write_text(json.dumps({**values, "save_model": False, **more}))
    return ["pretrain", "--config", str(config), "--report", str(report)], report


def test_a_run_uploads_its_checkpoints_with_all_it_knows(tiny: dict, tmp_path: Path) -> None:
    from trainer.__main__ import main

    line, report = pretraining(tiny, tmp_path, upload=f"file://{tmp_path}/far", epochs=2, schedule="constant")
    assert main(line) == 0
    told = json.loads(report.read_text())
    uploads = told["uploads"]
    last = f"step-{told['steps']:08d}"
    assert last in {entry["name"] for entry in uploads["done"]}
    assert uploads["failed"] == []
    described = json.loads((tmp_path / "far" / last / "metadata.json").read_text())
    assert described["step"] == told["steps"]
    assert described["loss"] == pytest.approx(told["losses"][-1])
    assert described["tokens"] == 32 * told["data"]["rows"] * 2
    assert described["tokens_per_second"] > 0 < described["steps_per_second"]
    assert described["settings"]["tokens_per_row"] == 32
    assert described["config"]["hidden_size"] == 32
    assert described["versions"] == told["versions"]
    assert described["model"]["parameters"] == told["model"]["parameters"]
    assert not (tmp_path / "run" / "uploads").exists()
    assert main([*line, "--epochs", "4"]) == 0  # goes on, and counts the tokens of both runs
    told = json.loads(report.read_text())
    described = json.loads((tmp_path / "far" / f"step-{told['steps']:08d}" / "metadata.json").read_text())
    assert described["tokens"] == 32 * told["data"]["rows"] * 4


def test_a_store_that_fails_never_stops_training(tiny: dict, tmp_path: Path, memory, monkeypatch, capsys) -> None:
    from trainer.__main__ import main

    failing(memory, monkeypatch, 10**6)
    line, report = pretraining(tiny, tmp_path, upload="memory://far", upload_attempts=1)
    assert main(line) == 1, "the store has nothing: that is no success"
    told = json.loads(report.read_text())
    assert told["outcome"] == "finished"
    assert told["uploads"]["done"] == []
    assert "the store is away" in told["uploads"]["failed"][-1]["error"]
    said = capsys.readouterr().err
    assert "was not uploaded to memory://far" in said
    assert "did not reach memory://far: " in said
    assert f"✓ {told['steps']} steps in" in said


def test_an_unknown_scheme_is_one_clear_error(tiny: dict, tmp_path: Path, capsys) -> None:
    from trainer.__main__ import main

    line, _ = pretraining(tiny, tmp_path, upload="nowhere://x")
    assert main(line) == 1
    err = capsys.readouterr().err
    assert "nowhere" in err
    assert "Traceback" not in err
    assert not (tmp_path / "run").exists()


def test_leftovers_of_a_killed_run_are_removed(tmp_path: Path) -> None:
    (tmp_path / "staging" / "step-00000001").mkdir(parents=True)
    write_lines(tmp_path / "staging" / "step-00000001" / "x", [])
    assert uploader(f"file://{tmp_path}/far", tmp_path, []).close(5)
    assert not (tmp_path / "staging").exists()
