from __future__ import annotations

import os
from pathlib import Path

import pytest

from trainer.data import whole


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was flushed to the disk, and when something was renamed, in order."""
    seen: list[str] = []
    fsync, replace, rename = os.fsync, os.replace, os.rename

    def flush(handle: int) -> None:
        seen.append(Path(os.readlink(f"/proc/self/fd/{handle}")).name.partition(".tmp-")[0])
        fsync(handle)

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(os, "replace", lambda a, b: (seen.append("renamed"), replace(a, b)))
    monkeypatch.setattr(os, "rename", lambda a, b: (seen.append("renamed"), rename(a, b)))
    return seen


def test_a_file_and_its_folder_are_on_the_disk_when_it_is_written(tmp_path: Path, flushed: list[str]) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b"old")
    whole.write_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert flushed == ["report.json", "renamed", tmp_path.name]
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_leaves_the_old_one_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        whole.write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_takes_the_place_of_the_one_before(tmp_path: Path, flushed: list[str]) -> None:
    target = tmp_path / "model"
    for content in ("1", "2"):
        flushed.clear()
        with whole.new_folder(target) as folder:
            (folder / "inner").mkdir()
            (folder / "inner" / "weights").write_text(content)
    assert (target / "inner" / "weights").read_text() == "2"
    assert sorted(flushed[:3]) == ["inner", "model", "weights"]
    assert flushed[3:] == ["renamed", "renamed", tmp_path.name]
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_whose_filling_fails_leaves_the_one_before(tmp_path: Path) -> None:
    target = tmp_path / "model"
    with whole.new_folder(target) as folder:
        (folder / "weights").write_text("1")

    def refill() -> None:
        with whole.new_folder(target) as folder:
            (folder / "weights").write_text("2")
            raise KeyError

    with pytest.raises(KeyError):
        refill()
    assert (target / "weights").read_text() == "1"
    assert list(tmp_path.iterdir()) == [target]
