"""Checkpoints that several processes write, each its own shards: whole or absent, as any checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from trainer.checkpoints import parts, save
from trainer.checkpoints.parts import Part
from trainer.errors import TrainerError

WORLD = 3


def saved(parent: Path, step: int, token: str, value: float = 0.0) -> None:
    """One checkpoint, as three processes save it; the first one last, since it waits for the others."""
    savers = [save.Saver(parent, 2) for _ in range(WORLD)]
    for rank in reversed(range(WORLD)):
        tensors = {"model": {"w": torch.full((2, 3), rank + value)}, "optimizer": {"w.step": torch.tensor(float(step))}}
        name = save.folder_name(step, 0)
        savers[rank].save(name, tensors, {"step": step, "sharded": True}, Part(rank, WORLD, token))
    for saver in savers:
        saver.wait()


def test_each_process_reads_what_it_wrote(tmp_path: Path) -> None:
    saved(tmp_path, 1, "aa")
    folder, passed_over = save.newest(tmp_path)
    assert passed_over == []
    assert folder is not None
    for rank in range(WORLD):
        state, tensors = save.read(folder, rank)
        assert state == {"step": 1, "sharded": True}
        assert torch.equal(tensors["model"]["w"], torch.full((2, 3), float(rank)))
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]


def test_a_damaged_part_makes_it_no_checkpoint(tmp_path: Path) -> None:
    saved(tmp_path, 1, "aa")
    saved(tmp_path, 2, "bb")
    with (tmp_path / "step-00000002" / "model.00002.safetensors").open("r+b") as stream:
        stream.seek(-1, 2)
        stream.write(b"\x7f")
    folder, passed_over = save.newest(tmp_path)
    assert folder == tmp_path / "step-00000001"
    assert "model.00002" in passed_over[0]


def test_the_same_again_leaves_nothing_beside_it(tmp_path: Path) -> None:
    saved(tmp_path, 1, "aa")
    saved(tmp_path, 1, "bb")
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]


def test_parts_of_a_run_that_was_killed_are_swept(tmp_path: Path) -> None:
    Part(2, WORLD, "old").put(tmp_path, "step-00000001", {"model": {"w": torch.ones(1)}})
    assert (tmp_path / "step-00000001.part-old-00002" / parts.DONE).is_file()
    saved(tmp_path, 1, "new")
    _, tensors = save.read(tmp_path / "step-00000001", 2)
    assert torch.equal(tensors["model"]["w"], torch.full((2, 3), 2.0))
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]


def test_a_part_that_does_not_come_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PATIENCE", 0.1)
    saver = save.Saver(tmp_path, 2)
    saver.save("step-00000001", {"model": {"w": torch.ones(1)}}, {}, Part(0, 2, "aa"))
    with pytest.raises(TrainerError, match="process 1 has not written its part") as caught:
        saver.wait()
    assert "file system" in caught.value.remedy
    assert save.newest(tmp_path) == (None, [])


def test_the_manifest_names_every_part(tmp_path: Path) -> None:
    saved(tmp_path, 1, "aa")
    manifest = json.loads((tmp_path / "step-00000001" / "MANIFEST.json").read_text())
    kinds = [f"{stem}.{rank:05d}.safetensors" for stem in ("model", "optimizer") for rank in range(WORLD)]
    assert sorted(manifest) == sorted([*kinds, "state.json"])
