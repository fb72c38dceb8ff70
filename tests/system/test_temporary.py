"""Temporary folders of the dead are removed by whoever comes next, and nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from envdoctor.errors import Trouble
from envdoctor.system import temporary

OWNER = """
import sys
from envdoctor.system import temporary
path = temporary.new_folder()
(path / "deep" / "er").mkdir(parents=True)
(path / "deep" / "er" / "file").write_text("x")
if len(sys.argv) > 1:
    (path / "link").symlink_to(sys.argv[1])
print(path, flush=True)
sys.stdin.read()
temporary.remove(path)
"""
MANY = """
from envdoctor.system import temporary
for _ in range(150):
    with temporary.folder() as path:
        (path / "file").write_text("x")
        assert (path / "file").read_text() == "x"
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def owner(*words: str) -> tuple[subprocess.Popen[str], Path]:
    started = subprocess.Popen(
        [sys.executable, "-c", OWNER, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    return started, Path(started.stdout.readline().strip())


def come_next() -> None:
    with temporary.folder() as path:
        (path / "file").write_text("x")
    assert not path.exists()


def test_a_killed_owners_folder_goes_with_the_next_command(
    place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "kept").write_text("kept")
    started, path = owner(str(outside))
    assert path.parent == place
    assert path.stat().st_mode & 0o077 == 0
    started.kill()
    started.wait()
    assert (path / "link" / "kept").exists()
    come_next()
    assert not path.exists()
    assert (outside / "kept").read_text() == "kept"


@pytest.mark.parametrize("stopped", [False, True])
def test_a_living_owners_folder_stays(stopped: bool) -> None:
    started, path = owner()
    if stopped:
        started.send_signal(signal.SIGSTOP)
    come_next()
    assert (path / "deep" / "er" / "file").read_text() == "x"
    started.send_signal(signal.SIGCONT)
    started.communicate("", timeout=30)
    assert started.returncode == 0
    assert not path.exists()


def test_what_is_not_surely_ours_stays(place: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    def made(name: str, mode: int = 0o700) -> Path:
        path = place / name
        path.mkdir(mode=mode)
        path.chmod(mode)
        (path / "kept").write_text("kept")
        return path

    elsewhere = tmp_path_factory.mktemp("elsewhere")
    elsewhere.chmod(0o700)
    (elsewhere / "kept").write_text("kept")
    held = temporary.PREFIX
    (place / f"{held}link").symlink_to(elsewhere)
    (place / f"{held}file").write_text("kept")
    kept = [made("envdoctor-others"), made(f"{held}open", 0o755), place / f"{held}link", place / f"{held}file"]
    if os.geteuid() == 0:
        kept.append(made(f"{held}theirs"))
        os.chown(kept[-1], 65534, 65534)
    gone = made(f"{held}dead")
    come_next()
    assert all(path.exists() for path in kept)
    assert (elsewhere / "kept").exists()
    assert not gone.exists()


def test_many_at_once_never_take_each_others_folder_away(place: Path) -> None:
    started = [subprocess.Popen([sys.executable, "-c", MANY]) for _ in range(4)]
    assert [one.wait(timeout=100) for one in started] == [0] * 4
    assert list(place.iterdir()) == []


def test_where_folders_cannot_be_locked_nobody_sweeps(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    dead = place / f"{temporary.PREFIX}dead"
    dead.mkdir(mode=0o700)
    monkeypatch.setattr(fcntl, "flock", refuse)
    come_next()
    assert dead.exists()


def test_no_place_is_told_in_one_sentence(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary, "PLACES", ())
    monkeypatch.setenv("TMPDIR", str(place / "missing"))
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nothing")
    monkeypatch.delenv("TEMP", raising=False)
    with pytest.raises(Trouble, match=r"no place for temporary files .*missing: No such file") as raised:
        temporary.new_folder()
    assert raised.value.exit_code == 3
