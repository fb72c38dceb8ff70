from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

from trainer.checkpoints import save
from trainer.errors import TrainerError


def put(parent: Path, step: int, value: float = 1.0) -> Path:
    return save.write(
        parent, save.folder_name(step, 0), {"model": {"w": torch.full((4,), value)}}, {"step": step}, keep=2
    )


def test_round_trip_and_the_newest_two_stay(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        put(tmp_path, step, float(step))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000002", "step-00000003"]
    folder, passed_over = save.newest(tmp_path)
    state, tensors = save.read(folder)
    assert (state, passed_over) == ({"step": 3}, [])
    assert torch.equal(tensors["model"]["w"], torch.full((4,), 3.0))


def damage_truncate(folder: Path) -> None:
    with (folder / "model.safetensors").open("r+b") as stream:
        stream.truncate(20)


def damage_flip(folder: Path) -> None:
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "model.safetensors").write_bytes(data)


def damage_missing(folder: Path) -> None:
    (folder / "state.json").unlink()


def damage_manifest(folder: Path) -> None:
    (folder / "MANIFEST.json").write_text("{")


def damage_empty_manifest(folder: Path) -> None:
    (folder / "MANIFEST.json").write_text("{}")


@pytest.mark.parametrize(
    "damage", [damage_truncate, damage_flip, damage_missing, damage_manifest, damage_empty_manifest]
)
def test_a_torn_checkpoint_falls_back_to_the_one_before(tmp_path: Path, damage) -> None:
    put(tmp_path, 1)
    damage(put(tmp_path, 2))
    folder, passed_over = save.newest(tmp_path)
    assert folder.name == "step-00000001"
    assert len(passed_over) == 1
    assert "step-00000002 is damaged" in passed_over[0]


def test_the_same_position_is_not_written_twice(tmp_path: Path) -> None:
    first = put(tmp_path, 1)
    stamp = (first / "MANIFEST.json").stat().st_mtime_ns
    assert put(tmp_path, 1) == first
    assert (first / "MANIFEST.json").stat().st_mtime_ns == stamp


@pytest.mark.faults
def test_killed_at_every_file_operation_a_whole_checkpoint_remains(tmp_path: Path) -> None:
    """A child saves step 2 over step 1 and is killed at its n-th rename, fsync, removal or mkdir, for every n."""
    program = (
        "import os, signal, sys, pathlib, torch\n"
        "from trainer.checkpoints import save\n"
        "parent = pathlib.Path(sys.argv[1]); deadly = int(sys.argv[2]); count = 0\n"
        "def armed(function):\n"
        "    def call(*arguments, **options):\n"
        "        global count\n"
        "        count += 1\n"
        "        if count == deadly: os.kill(os.getpid(), signal.SIGKILL)\n"
        "        return function(*arguments, **options)\n"
        "    return call\n"
        "for name in ('rename', 'fsync', 'mkdir', 'rmdir', 'unlink'): setattr(os, name, armed(getattr(os, name)))\n"
        "save.write(parent, 'step-00000002', {'model': {'w': torch.ones(4)}}, {'step': 2}, keep=2)\n"
    )
    root = Path(save.__file__).parents[2]
    outcomes = []
    put(tmp_path, 1)
    for deadly in (*range(1, 10), 99):
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path), str(deadly)], cwd=root, capture_output=True, timeout=120
        )
        assert done.returncode == (0 if deadly == 99 else -signal.SIGKILL), done.stderr
        folder, passed_over = save.newest(tmp_path)
        assert passed_over == []
        outcomes.append(save.read(folder)[0]["step"])
    assert outcomes[0] == 1
    assert outcomes[-1] == 2
    assert outcomes == sorted(outcomes)
    assert not list(tmp_path.glob("*.tmp-*"))


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, 1)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TrainerError, match="No space left"):
        put(tmp_path, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]


def test_a_failed_background_write_is_raised_in_the_training_thread(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("a file where the folder should be")
    saver = save.Saver(tmp_path / "c", 2)
    saver.save("step-00000001", {"model": {"w": torch.ones(1)}}, {})
    with pytest.raises((TrainerError, OSError)):
        saver.wait()


def test_nothing_in_a_checkpoint_is_a_pickle(tmp_path: Path) -> None:
    names = sorted(path.name for path in put(tmp_path, 1).iterdir())
    assert names == ["MANIFEST.json", "model.safetensors", "state.json"]
    assert json.loads((tmp_path / "step-00000001" / "MANIFEST.json").read_text()).keys() == {
        "model.safetensors",
        "state.json",
    }


@pytest.mark.parametrize(("blocking", "writer"), [(False, "checkpoint"), (True, threading.current_thread().name)])
def test_who_writes_is_who_was_asked_to(
    blocking: bool, writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint that is waited for is copied and written by the training thread itself, and is there at once."""
    seen, write = [], save.write

    def noted(*given, **named) -> Path:
        seen.append(threading.current_thread().name)
        return write(*given, **named)

    monkeypatch.setattr(save, "write", noted)
    saver = save.Saver(tmp_path, 2, blocking)
    weight = torch.ones(4)
    saver.save("step-00000001", {"model": {"w": weight}}, {"step": 1})
    if blocking:
        assert (tmp_path / "step-00000001" / "MANIFEST.json").is_file()
    weight.zero_()
    saver.wait()
    assert seen == [writer]
    assert torch.equal(save.read(tmp_path / "step-00000001")[1]["model"]["w"], torch.ones(4))


def test_a_blocking_write_that_fails_is_raised_by_save_itself(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("a file where the folder should be")
    with pytest.raises((TrainerError, OSError)):
        save.Saver(tmp_path / "c", 2, blocking=True).save("step-00000001", {"model": {"w": torch.ones(1)}}, {})
