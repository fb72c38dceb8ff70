"""Environments whose folder cannot be exchanged: real overlay layers, mount points, and folders with more in them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from envdoctor.change import overwrite
from envdoctor.change.apply import apply
from envdoctor.change.recover import recover
from envdoctor.change.strategy import preview
from envdoctor.change.undo import history, undo
from envdoctor.errors import Trouble
from tests.change.conftest import World, leftovers, make_world, quiet, snapshot

Verify = Callable[[Path], str | None]


@pytest.fixture
def project(world: World) -> World:
    """An environment whose folder is a project as well."""
    (world.environment / "train.py").write_text("print('mine')")
    (world.environment / "data").mkdir()
    (world.environment / "data" / "tokens.bin").write_bytes(b"\0" * 10)
    return world


def test_what_no_package_owns_is_left_alone(project: World, healthy: Verify) -> None:
    before = snapshot(project.environment)
    data = project.environment / "data" / "tokens.bin"
    inode = data.stat().st_ino
    applied = apply(project.change(), verify=healthy, progress=quiet)
    assert applied.strategy.kind == "file-by-file"
    assert "train.py" in applied.strategy.reason
    assert project.version("alpha") == "2.0"
    after = snapshot(project.environment)
    data.write_bytes(b"more")
    undo(project.environment)
    assert data.read_bytes() == b"more"
    assert data.stat().st_ino == inode
    data.write_bytes(b"\0" * 10)
    assert snapshot(project.environment) == before
    undo(project.environment, to=1)
    assert snapshot(project.environment) == after
    assert [name for name in leftovers(project.environment) if not name.endswith(".journal")] == []


def test_states_are_left_step_by_step(project: World, healthy: Verify) -> None:
    first = snapshot(project.environment)
    apply(project.change(), verify=healthy, progress=quiet)
    apply(project.change(install=project.old[:1]), verify=healthy, progress=quiet)
    assert [state.number for state in history(project.environment)] == [0, 1, 2]
    with pytest.raises(Trouble, match="from state 1 only"):
        undo(project.environment, to=0)
    undo(project.environment)
    undo(project.environment)
    assert snapshot(project.environment) == first


def test_failure_half_way_is_taken_back(project: World, healthy: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    before = snapshot(project.environment)
    real = Path.replace
    calls = []

    def failing(path: Path, target: Path) -> Path:
        if path.name == overwrite._TEMPORARY:
            calls.append(target)
            if len(calls) == 3:
                raise OSError(28, "No space left on device", str(target))
        return real(path, target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(Trouble, match="No space left"):
        apply(project.change(), verify=healthy, progress=quiet)
    assert snapshot(project.environment) == before
    assert not list(project.environment.glob(".envdoctor-kept-*"))
    assert recover(project.environment).actions == ()


@pytest.fixture
def layered(tmp_path: Path) -> Iterator[World]:
    """An environment in the lower layer of an overlay, as every environment baked into a container image is."""
    lower = tmp_path / "image"
    lower.mkdir()
    merged = tmp_path / "merged"
    for name in ("upper", "work", "merged"):
        (tmp_path / name).mkdir()
    options = f"lowerdir={lower},upperdir={tmp_path / 'upper'},workdir={tmp_path / 'work'}"
    # The environment must know itself by its path in the container: it is made there and then becomes the lower layer.
    subprocess.run(["mount", "--bind", lower, merged], check=True)
    try:
        world = make_world(merged)
    finally:
        subprocess.run(["umount", merged], check=True)
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, merged], check=True)
    try:
        yield world
    finally:
        subprocess.run(["umount", "--lazy", merged], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_lower_layer_of_a_container(layered: World, healthy: Verify) -> None:
    before = snapshot(layered.environment)
    strategy = preview(layered.change())
    assert strategy.kind == "file-by-file"
    assert "lower layer" in strategy.reason
    apply(layered.change(), verify=healthy, progress=quiet)
    assert (layered.version("alpha"), layered.version("gamma")) == ("2.0", "1.0")
    undo(layered.environment)
    assert snapshot(layered.environment) == before


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[World]:
    environment = tmp_path / ".venv"
    environment.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", environment], check=True)
    try:
        yield make_world(tmp_path)
    finally:
        subprocess.run(["umount", "--lazy", environment], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_mount_point(mounted: World, healthy: Verify) -> None:
    before = snapshot(mounted.environment)
    strategy = preview(mounted.change())
    assert strategy.kind == "file-by-file"
    assert "mount point" in strategy.reason
    apply(mounted.change(), verify=healthy, progress=quiet)
    assert mounted.version("alpha") == "2.0"
    undo(mounted.environment)
    assert snapshot(mounted.environment) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_mount_point_that_cannot_be_written_is_refused_before_anything_is_installed(mounted: World) -> None:
    subprocess.run(["mount", "-o", "remount,ro", mounted.environment], check=True)
    strategy = preview(mounted.change())
    assert (strategy.kind, strategy.reason) == ("refuse", "its folder cannot be written")
