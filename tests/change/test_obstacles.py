"""Full disks, read-only folders, missing rights, two at once: the old environment stays, and the trouble has a name."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from envdoctor.change import exchange, swap
from envdoctor.change.apply import apply
from envdoctor.change.lock import _sign, hold_lock
from envdoctor.change.places import places
from envdoctor.change.recover import recover
from envdoctor.change.strategy import preview
from envdoctor.change.undo import undo
from envdoctor.change.values import Change
from envdoctor.errors import Trouble
from tests.change.conftest import World, fix_words, leftovers, make_world, quiet, run, snapshot, write_target
from tests.change.wheels import make_wheel

Verify = Callable[[Path], str | None]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


def _mount(folder: Path, options: str) -> None:
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    _mount(folder, "size=4m")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def _big(wheels: Path, size: int) -> World:
    """A world whose alpha 2.0 does not compress."""
    world = make_world(wheels)
    (world.wheels / world.new[0].wheel).unlink()
    folder = wheels.parent / "big"
    big = make_wheel(folder, "alpha", "2.0", {"alpha/data.bin": os.urandom(size)})
    return replace(world, new=(big, make_wheel(folder, "beta", "2.0")), wheels=folder)


@needs_root
def test_full_disk_is_foreseen(small_disk: Path, healthy: Verify) -> None:
    """uv's cache lies on another file system, so every byte is certain to be needed."""
    world = _big(small_disk, 5_000_000)
    before = snapshot(world.environment)
    strategy = preview(world.change())
    assert strategy.kind == "refuse"
    assert 5_000_000 <= strategy.bytes_needed < 5_500_000
    with pytest.raises(Trouble, match="the disk is too full: 5") as caught:
        apply(world.change(), verify=healthy, progress=quiet)
    assert "Free space" in caught.value.remedy
    assert snapshot(world.environment) == before
    assert leftovers(world.environment) == [] or leftovers(world.environment)[0].endswith(".journal")


@needs_root
@pytest.mark.parametrize("installer", ["uv", pytest.param("pip", marks=pytest.mark.slow)])
def test_full_disk_in_the_middle(
    small_disk: Path, healthy: Verify, installer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the size of the wheel had not been known: the installer runs into the end of the disk, in the clone."""
    world = _big(small_disk, 5_000_000)
    monkeypatch.setattr("envdoctor.change.space._unpacked_size", lambda pin, folders: (0, 0, 0))
    monkeypatch.setenv("TMPDIR", "/tmp")
    before = snapshot(world.environment)
    with pytest.raises(Trouble, match=r"disk is full|No space left") as caught:
        apply(world.change(installer=installer), verify=healthy, progress=quiet)
    assert "Free some space" in caught.value.remedy
    assert snapshot(world.environment) == before
    assert [name for name in leftovers(world.environment) if not name.endswith(".journal")] == []


@needs_root
def test_read_only_file_system(small_disk: Path, healthy: Verify) -> None:
    world = make_world(small_disk)
    before = snapshot(world.environment)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert preview(world.change()).kind == "refuse"
    with pytest.raises(Trouble, match="Read-only file system"):
        apply(world.change(), verify=healthy, progress=quiet)
    assert snapshot(world.environment) == before


@pytest.mark.parametrize("folder", [".", ".venv/lib/python{}.{}/site-packages/gamma".format(*sys.version_info)])
def test_folder_that_may_not_be_written(tmp_path: Path, folder: str) -> None:
    """Without root's power over permissions: nothing can be made beside the environment, or a part cannot be read."""
    world = make_world(tmp_path)
    (tmp_path / folder).chmod(0o555 if folder == "." else 0)
    try:
        with pytest.raises(Trouble, match=r"envdoctor: .*(Permission denied|cannot be written)") as caught:
            _other_process(world, preexec_fn=_without_power)
    finally:
        (tmp_path / folder).chmod(0o755)
    assert caught.value.exit_code == 3
    assert "Traceback" not in str(caught.value)
    assert world.version("alpha") == "1.0"


def _without_power() -> None:
    """Drop CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH for the program that is started (prctl(2), PR_CAPBSET_DROP)."""
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


def test_two_at_once(world: World, healthy: Verify) -> None:
    with hold_lock(places(world.environment).control), pytest.raises(Trouble, match="another envdoctor") as caught:
        _other_process(world)
    assert str(os.getpid()) in str(caught.value)
    apply(world.change(), verify=healthy, progress=quiet)
    assert world.version("alpha") == "2.0"


def test_a_lock_that_cannot_be_signed_is_named(world: World) -> None:
    """As on a full disk, where a traceback told nobody what to do."""
    path = world.environment.parent / "lock"
    path.touch()
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with pytest.raises(Trouble, match=r"lock: cannot be written: Invalid argument") as caught:
            _sign(descriptor, path)
    finally:
        os.close(descriptor)
    assert caught.value.exit_code == 3


def _other_process(world: World, preexec_fn: Callable[[], None] | None = None) -> None:
    """Run the driver as a second envdoctor, and raise what it says."""
    target = write_target(world, world.environment.parent / "locks")
    done = subprocess.run(
        [sys.executable, "-m", "tests.change.driver", *fix_words(target, world.environment)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        preexec_fn=preexec_fn,
    )
    if done.returncode:
        raise Trouble(done.stderr, exit_code=done.returncode)


def test_orphaned_installer_is_ended(world: World, healthy: Verify) -> None:
    """envdoctor was killed, its installer lives on and holds the lock: the next run ends it instead of waiting."""
    control = places(world.environment).control
    code = (
        "import os, subprocess, sys; from pathlib import Path; from envdoctor.change.lock import hold_lock\n"
        "with hold_lock(Path(sys.argv[1])) as lock:\n"
        "    child = subprocess.Popen(['sleep', '60'], pass_fds=(lock,), stdout=-3, stderr=-3)\n"
        "    print(child.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, control], capture_output=True, text=True, cwd=Path(__file__).parents[2]
    )
    orphan = int(done.stdout)
    assert Path(f"/proc/{orphan}").exists()
    apply(world.change(), verify=healthy, progress=quiet)
    assert world.version("alpha") == "2.0"
    status = Path(f"/proc/{orphan}/stat")
    assert not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z"


def test_orphans_in_the_clone_do_not_bring_it_back(world: World, healthy: Verify) -> None:
    """envdoctor was killed while a Python of the clone ran: writing bytecode makes all folders that it needs."""
    note = world.environment.parent / "orphan"
    code = (
        "import os, sys, time; print(1, flush=True); time.sleep(3)\n"
        "os.makedirs(os.path.join(sys.prefix, 'lib', '__pycache__'), exist_ok=True); time.sleep(60)"
    )

    def verify(clone: Path) -> None:
        orphan = subprocess.Popen([clone / "bin" / "python", "-c", code], stdout=-1, stderr=-3)
        assert orphan.stdout is not None
        orphan.stdout.read(1)
        note.write_text(f"{orphan.pid} {clone}")
        os.kill(os.getpid(), 9)

    process = os.fork()
    if process == 0:
        apply(world.change(), verify=verify, progress=quiet)
        os._exit(1)
    assert os.waitpid(process, 0)[1] == 9
    orphan, _, clone = note.read_text().partition(" ")
    assert Path(f"/proc/{orphan}/exe").exists()
    assert recover(world.environment).actions
    assert not Path(f"/proc/{orphan}/exe").exists()
    assert not Path(clone).exists()
    apply(world.change(), verify=healthy, progress=quiet)
    assert world.version("alpha") == "2.0"


def test_file_system_without_exchange(world: World, healthy: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(one: Path, other: Path) -> None:
        raise OSError(22, os.strerror(22))

    for module in (swap, sys.modules["envdoctor.change.strategy"]):
        monkeypatch.setattr(module, "exchange", unsupported)
    before = snapshot(world.environment)
    applied = apply(world.change(), verify=healthy, progress=quiet)
    assert applied.strategy.kind == "journaled-swap"
    assert world.version("alpha") == "2.0"
    undo(world.environment)
    assert snapshot(world.environment) == before


def test_interrupted_renames_are_settled(world: World, healthy: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between two renames, when there is no environment at all."""
    apply(world.change(), verify=healthy, progress=quiet)
    monkeypatch.setattr(swap, "exchange", _killed_half_way(places(world.environment).aside))
    with pytest.raises(SystemError):
        undo(world.environment)
    assert not world.environment.exists()
    assert recover(world.environment).actions
    assert world.version("alpha") == "2.0"
    monkeypatch.setattr(swap, "exchange", exchange.exchange)
    undo(world.environment)
    assert world.version("alpha") == "1.0"


def _killed_half_way(aside: Path) -> Callable[[Path, Path], None]:
    def killed(one: Path, other: Path) -> None:
        one.rename(aside)
        raise SystemError("as if killed")

    return killed


def test_system_python_is_left_alone(tmp_path: Path, healthy: Verify) -> None:
    """A base Python belongs to others as well: a new environment is made in the working directory."""
    base = Path(sys.base_prefix)
    wheels = tmp_path / "wheels"
    pins = (make_wheel(wheels, "alpha", "2.0"),)
    change = Change(environment=base, wanted=pins, install=pins, wheels=wheels)
    strategy = preview(change)
    assert (strategy.kind, strategy.environment) == ("beside", tmp_path / ".venv")
    assert strategy.activate == f". {tmp_path}/.venv/bin/activate"
    applied = apply(change, verify=healthy, progress=quiet)
    assert applied.strategy.kind == "beside"
    python = tmp_path / ".venv" / "bin" / "python"
    assert run(python, "-c", "import alpha, sys; print(alpha.version, sys.base_prefix)") == f"2.0 {base}"
    assert not list(base.parent.glob(".envdoctor-*"))
    assert preview(change).kind == "refuse"


def test_dead_python_is_named(world: World, healthy: Verify) -> None:
    python = world.environment / "bin" / "python"
    python.unlink()
    python.symlink_to("/bin/false")
    with pytest.raises(Trouble, match="bin/python: does not start") as caught:
        apply(world.change(), verify=healthy, progress=quiet)
    assert "anew" in caught.value.remedy
