"""A change of a conda environment, which is made file by file."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from envdoctor.change.apply import apply
from envdoctor.change.clone import clone, copy_file
from envdoctor.change.undo import undo
from tests.change.conftest import World, install, make_world, quiet, run, snapshot

Verify = Callable[[Path], str | None]


@pytest.fixture
def conda(tmp_path: Path) -> World:
    """A prefix as conda makes them: a Python of its own, with conda's records, made of the Python of the tests."""
    world = make_world(tmp_path)
    shutil.rmtree(world.environment)
    base = Path(sys.base_prefix)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    (world.environment / "lib").mkdir(parents=True)
    clone(base / "lib" / version, world.environment / "lib" / version, leave_out=lambda name: name == "site-packages")
    (world.environment / "lib" / version / "site-packages").mkdir()
    (world.environment / "lib" / version / "EXTERNALLY-MANAGED").unlink(missing_ok=True)
    (world.environment / "bin").mkdir()
    copy_file(base / "bin" / version, world.environment / "bin" / "python")
    for library in (base / "lib").glob("libpython*"):
        shutil.copy2(library, world.environment / "lib", follow_symlinks=False)
    (world.environment / "conda-meta").mkdir()
    (world.environment / "conda-meta" / "history").write_text("==> 2026-01-01 <==\n")
    install(world.environment, world.wheels, *world.old)
    return world


def test_conda_environment(conda: World, healthy: Verify) -> None:
    before = snapshot(conda.environment)
    applied = apply(conda.change(), verify=healthy, progress=quiet)
    assert applied.strategy.kind == "exchange"
    assert conda.version("alpha") == "2.0"
    prefix = run(conda.environment / "bin" / "python", "-c", "import sys; print(sys.prefix)")
    assert prefix == str(conda.environment)
    undo(conda.environment)
    assert snapshot(conda.environment) == before


def test_conda_base_keeps_its_other_environments_out_of_it(conda: World, healthy: Verify) -> None:
    other = conda.environment / "envs" / "other" / "file"
    other.parent.mkdir(parents=True)
    other.write_text("x")
    inode = other.stat().st_ino
    applied = apply(conda.change(), verify=healthy, progress=quiet)
    assert applied.strategy.kind == "file-by-file"
    assert conda.version("alpha") == "2.0"
    assert other.stat().st_ino == inode
    undo(conda.environment)
    assert conda.version("alpha") == "1.0"


def test_bytecode_of_a_replaced_module_does_not_survive_a_change_file_by_file(conda: World, healthy: Verify) -> None:
    """Two versions with one size and one second of modification: Python cannot tell whose bytecode it has."""
    (conda.environment / "envs").mkdir()
    package = conda.environment / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages" / "alpha"
    code = "import alpha; print(alpha.version)"

    def loaded() -> str:
        return run(conda.environment / "bin" / "python", "-c", code, PYTHONDONTWRITEBYTECODE="")

    os.utime(package / "__init__.py", (1_700_000_000, 1_700_000_000))
    assert apply(conda.change(), verify=healthy, progress=quiet).strategy.kind == "file-by-file"
    os.utime(package / "__init__.py", (1_700_000_000, 1_700_000_000))
    assert loaded() == "2.0"
    undo(conda.environment)
    assert loaded() == "1.0"
