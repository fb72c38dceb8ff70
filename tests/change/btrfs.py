"""Series for SAFETY.md on a file system of our own (btrfs, in a file): blocks that are shared, and a quota."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from envdoctor.change.apply import apply
from envdoctor.change.undo import history, undo
from tests.change.attacks import INSTALLERS, Told, attempted
from tests.change.conftest import World, make_world, quiet, snapshot
from tests.change.surroundings import whole
from tests.change.wheels import make_wheel


@contextlib.contextmanager
def mounted(folder: Path) -> Iterator[Path]:
    """A subvolume of a new btrfs, with quotas."""
    image, mount = folder / "image", folder / "btrfs"
    with image.open("wb") as file:
        file.truncate(400 << 20)
    mount.mkdir()
    _run("mkfs.btrfs", "--quiet", image)
    _run("mount", "--options", "loop", image, mount)
    try:
        _run("btrfs", "quota", "enable", mount)
        _run("btrfs", "subvolume", "create", mount / "own")
        yield mount / "own"
    finally:
        _run("umount", "--lazy", mount)
        image.unlink()


def _run(*words: str | Path) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout


def reflinks(world: World, chance: random.Random, told: Told, trial: int) -> None:
    """Every file is edited in place after a fix: the state that was left keeps every byte, and undo brings it back."""
    del trial
    with mounted(world.environment.parent) as folder:
        small = make_world(folder)
        before = snapshot(small.environment)
        apply(small.change(), verify=lambda clone: None, progress=quiet)
        kept = next(folder.glob(".envdoctor-.venv-*"))
        for path in sorted(small.environment.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.name != ".envdoctor":
                with path.open("r+b") as file:
                    file.seek(chance.randrange(path.stat().st_size + 1))
                    file.write(b"# edited\n")
                told["files edited in place"] += 1
        told["bad: not the kept state"] += snapshot(kept) != before
        undo(small.environment, agree=lambda departure: None)
        told["bad: not what was there"] += snapshot(small.environment) != before
        told["bad: no history"] += not history(small.environment)


def quotas(world: World, chance: random.Random, told: Told, trial: int) -> None:
    """A quota that is reached at some point of the change, or never: the old state or the new, and the next run."""
    with mounted(world.environment.parent) as folder:
        installer = INSTALLERS[trial % 2]
        small = make_world(folder)
        wheels = world.environment.parent / "big"
        files = {"alpha/__init__.py": "version = '2.0'\n", "alpha/a": os.urandom(10**6)}
        pins = (make_wheel(wheels, "alpha", "2.0", files), make_wheel(wheels, "beta", "2.0"))
        small = replace(small, new=pins, wheels=wheels)
        before = snapshot(small.environment)
        os.sync()
        used = int(_run("btrfs", "qgroup", "show", "-f", "--raw", folder).split()[-2])
        _run("btrfs", "qgroup", "limit", str(used + chance.randrange(3_500_000)), folder)
        changed = attempted(small, told, installer=installer)
        told["bad"] += changed != whole(small, small.environment)
        told["bad"] += not changed and snapshot(small.environment) != before
        _run("btrfs", "qgroup", "limit", "none", folder)
        told["bad: the next run"] += not attempted(small, told, installer=installer)
        told["bad: the next run"] += not whole(small, small.environment)
