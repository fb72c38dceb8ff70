"""What others do to an environment, while it is changed or between changes, is carried over, named or kept."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from envdoctor.change.apply import apply
from envdoctor.change.clone import clone
from envdoctor.change.distributions import Going
from envdoctor.change.meanwhile import Watch
from envdoctor.change.tree import difference, shared_files, walk
from envdoctor.change.undo import history, undo
from envdoctor.errors import Trouble
from tests.change.conftest import World, fix_words, install, leftovers, quiet, snapshot, write_target
from tests.change.wheels import make_wheel
from tests.commands.test_check import envdoctor

Verify = Callable[[Path], str | None]
SITE = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"

# Appends a numbered line to two files and makes a numbered file in two folders, over and over, and says how far it is.
WRITER = f"""
import os, sys, time
root, n = sys.argv[1], 0
while not os.path.exists(root + "/../stop"):
    for name in ("etc/app.conf", "{SITE}/gamma/settings.cfg"):
        with open(f"{{root}}/{{name}}", "a") as file:
            file.write(f"{{n}}\\n")
    for name in ("var/log", "{SITE}/gamma/data"):
        with open(f"{{root}}/{{name}}/{{n}}", "x") as file:
            file.write(f"{{n}}\\n")
    n += 1
    print(n, flush=True)
    time.sleep(0.01)
"""


@contextmanager
def written_to(environment: Path) -> Iterator[list[int]]:
    """A program that writes into the environment all the time; afterwards the list says how many rounds it made."""
    for name in ("etc", "var/log", f"{SITE}/gamma/data"):
        (environment / name).mkdir(parents=True)
    rounds: list[int] = []
    base = os.path.realpath(sys.executable)
    process = subprocess.Popen([base, "-c", WRITER, environment], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield rounds
        (environment.parent / "stop").touch()
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        rounds.append(int(said.split()[-1]))
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("turn", range(3))
def test_what_is_written_during_a_change_is_all_there_afterwards(world: World, healthy: Verify, turn: int) -> None:
    refused = ""
    with written_to(world.environment) as rounds:
        try:
            missed = apply(world.change(), verify=healthy, progress=quiet).missed
        except Trouble as trouble:
            refused, missed = str(trouble), ()
        time.sleep(0.1)
    assert world.version("alpha") == ("1.0" if refused else "2.0")
    assert "without a pause" in refused or not refused
    (count,) = rounds
    assert count > 5
    lines = {str(number) for number in range(count)}
    for name in ("etc/app.conf", f"{SITE}/gamma/settings.cfg"):
        if name not in missed:
            assert set((world.environment / name).read_text().split()) == lines
    for name in ("var/log", f"{SITE}/gamma/data"):
        gone = lines - {path.name for path in (world.environment / name).iterdir()}
        assert gone <= {os.path.basename(path) for path in missed}


def test_what_is_written_deleted_and_linked_meanwhile_is_carried_over(world: World) -> None:
    (world.environment / "etc").mkdir()
    (world.environment / "etc" / "old.conf").write_text("old")
    (world.environment / "etc" / "app.conf").write_text("1\n")

    def verify(clone: Path) -> None:
        (world.environment / "etc" / "old.conf").unlink()
        with (world.environment / "etc" / "app.conf").open("a") as file:
            file.write("2\n")
        (world.environment / "share" / "new" / "deep").mkdir(parents=True)
        (world.environment / "share" / "new" / "deep" / "file").write_text("here")
        (world.environment / "share" / "link").symlink_to(world.environment / "share" / "new")
        (world.environment / SITE / "gamma" / "__init__.py").write_text("version = 'mine'\n")

    apply(world.change(), verify=verify, progress=quiet)
    assert world.version("alpha") == "2.0"
    assert not (world.environment / "etc" / "old.conf").exists()
    assert (world.environment / "etc" / "app.conf").read_text() == "1\n2\n"
    assert (world.environment / "share" / "new" / "deep" / "file").read_text() == "here"
    assert (world.environment / "share" / "link").resolve() == world.environment / "share" / "new"
    assert world.version("gamma") == "mine"


def test_what_is_written_meanwhile_where_the_change_writes_too_is_refused_by_name(world: World) -> None:
    def verify(clone: Path) -> None:
        (world.environment / SITE / "alpha" / "gone.py").write_text("text = 'precious'\n")

    with pytest.raises(Trouble, match=rf"somebody else meanwhile: {SITE}/alpha/gone\.py"):
        apply(world.change(), verify=verify, progress=quiet)
    assert (world.environment / SITE / "alpha" / "gone.py").read_text() == "text = 'precious'\n"
    assert world.version("alpha") == "1.0"


def test_files_that_both_states_have_are_not_asked_for_again(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    names = ("replaced.py", "same.py", "x-1.dist-info/RECORD")
    for state in (one, other):
        (state / "x-1.dist-info").mkdir(parents=True)
        (state / "own.log").write_text("1")
    for name in names:
        (one / name).write_text("1")
        (other / name).hardlink_to(one / name)
    before = walk(one)
    shared = shared_files(before, walk(other))
    assert shared.keys() == {"replaced.py", "same.py"}, "what tells of packages is looked at whoever has it"
    for name in ("same.py", "own.log", "x-1.dist-info/RECORD"):
        with (one / name).open("a") as file:
            file.write("2")
    (one / "replaced.new").write_text("2")
    (one / "replaced.new").replace(one / "replaced.py")
    found = difference(before, walk(one, shared=shared))
    assert (found.new, found.gone) == ((), ())
    assert found.altered == ("own.log", "replaced.py", "x-1.dist-info/RECORD")


def test_once_something_was_carried_over_all_is_looked_at_again(tmp_path: Path) -> None:
    """The number of a file that is gone from both states may be another's by the next look."""
    real, slot = tmp_path / "real", tmp_path / "slot"
    (real / "lib").mkdir(parents=True)
    for name in ("shared.py", "gone.py"):
        (real / "lib" / name).write_text("old")
    watch = Watch(real, frozenset())
    done, going = clone(real, slot), Going(files=frozenset(), folders=frozenset())
    watch.share(walk(slot))
    (real / "lib" / "shared.py").write_text("longer")
    assert not watch.settle(slot, going, done)
    assert watch.seen["lib/shared.py"].size == len("old"), "it is in both: nobody asks"
    (real / "lib" / "gone.py").unlink()
    assert watch.settle(slot, going, done)
    assert not (slot / "lib" / "gone.py").exists()
    assert watch.seen["lib/shared.py"].size == len("longer")
    (real / "lib" / "gone.py").write_text("new")
    assert watch.settle(slot, going, done)
    assert (slot / "lib" / "gone.py").read_text() == "new"


def test_a_change_that_fails_leaves_the_record_of_what_was_there(world: World, healthy: Verify) -> None:
    apply(world.change(), verify=healthy, progress=quiet)
    (journal,) = world.environment.parent.glob(".envdoctor-*.journal")
    before = {path.name: path.read_text() for path in journal.glob("state-*")}
    (world.environment / SITE / "mine.py").write_text("precious = 1\n")
    with pytest.raises(Trouble, match="SIGSEGV"):
        apply(world.change(install=world.old[:1]), verify=lambda _: "import torch: SIGSEGV", progress=quiet)
    assert {path.name: path.read_text() for path in journal.glob("state-*")} == before
    with pytest.raises(Trouble, match=rf"leave behind .*{SITE}/mine\.py"):
        undo(world.environment)


def test_too_much_to_carry_over_is_refused(world: World) -> None:
    def verify(clone: Path) -> None:
        with (world.environment / "share.bin").open("wb") as file:
            file.truncate(100 * 2**20)

    with pytest.raises(Trouble, match=r"1 paths, 105 MB\): share\.bin"):
        apply(world.change(), verify=verify, progress=quiet)


def test_a_change_file_by_file_leaves_alone_what_others_write(world: World) -> None:
    (world.environment / "train.py").write_text("print('mine')")
    (world.environment / "etc").mkdir()
    (world.environment / "etc" / "app.conf").write_text("1\n")

    def verify(clone: Path) -> None:
        (world.environment / "etc" / "app.conf").write_text("1\n2\n")
        (world.environment / SITE / "gamma" / "new.txt").write_text("here")

    assert apply(world.change(), verify=verify, progress=quiet).strategy.kind == "file-by-file"
    assert world.version("alpha") == "2.0"
    for _ in range(2):
        assert (world.environment / "etc" / "app.conf").read_text() == "1\n2\n"
        assert (world.environment / SITE / "gamma" / "new.txt").read_text() == "here"
        if world.version("alpha") == "2.0":
            undo(world.environment)
    assert world.version("alpha") == "1.0"


def test_undo_names_what_was_done_since_and_drops_none_of_it_unasked(world: World, healthy: Verify) -> None:
    toolz = make_wheel(world.wheels, "toolz", "0.12")
    apply(world.change(), verify=healthy, progress=quiet)
    assert undo(world.environment).behind == ()
    undo(world.environment, to=1)
    install(world.environment, world.wheels, toolz)
    (world.environment / SITE / "mine.py").write_text("precious = 1\n")
    refused = envdoctor("undo", "--env", world.environment)
    assert refused.code == 2
    said = " ".join(refused.err.split())
    assert f"left behind: toolz 0.12 (installed); {SITE}/mine.py" in said
    assert "--yes" in said
    assert world.version("toolz") == "0.12"
    assert envdoctor("undo", "-y", "--env", world.environment).code == 0
    assert not (world.environment / SITE / "mine.py").exists()
    assert world.version("alpha") == "1.0"
    # Two later changes do not delete what exists nowhere else.
    for pins in (world.new, world.old, world.new, world.old):
        apply(world.change(install=pins[:2]), verify=healthy, progress=quiet)
    assert [state.number for state in history(world.environment) if state.changed] == [1]
    assert "changed by others since" in " ".join(envdoctor("undo", "--list", "--env", world.environment).out.split())
    undo(world.environment, to=1)
    assert world.version("toolz") == "0.12"
    assert (world.environment / SITE / "mine.py").read_text() == "precious = 1\n"


def test_undo_asks_on_a_terminal(world: World, healthy: Verify) -> None:
    apply(world.change(), verify=healthy, progress=quiet)
    (world.environment / "etc").mkdir()
    (world.environment / "etc" / "app.conf").write_text("mine")
    words = [sys.executable, "-m", "envdoctor", "undo", "--env", world.environment]
    for answer, version in ((b"n\n", "2.0"), (b"y\n", "1.0")):
        ours, theirs = pty.openpty()
        os.write(ours, answer)
        process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        said = b""
        while True:
            try:
                said += os.read(ours, 4096)
            except OSError:
                break
        os.close(ours)
        process.wait(60)
        assert b"etc" in said
        assert b"Go back without it?" in said
        assert world.version("alpha") == version


def test_a_fix_carries_what_was_done_since_and_keeps_what_it_replaces(world: World, healthy: Verify) -> None:
    apply(world.change(), verify=healthy, progress=quiet)
    install(world.environment, world.wheels, make_wheel(world.wheels, "toolz", "0.12"))
    apply(world.change(install=world.old[:1]), verify=healthy, progress=quiet)
    assert world.version("toolz") == "0.12"
    assert [state.number for state in history(world.environment) if state.changed] == []
    (world.environment / SITE / "alpha" / "notes.txt").write_text("mine")
    apply(world.change(install=world.new[:1]), verify=healthy, progress=quiet)
    assert [state.number for state in history(world.environment) if state.changed] == [2]


def test_files_edited_in_place_are_named_by_undo(world: World, healthy: Verify) -> None:
    apply(world.change(), verify=healthy, progress=quiet)
    with (world.environment / SITE / "gamma" / "__init__.py").open("a") as file:
        file.write("# edited\n")
    outcome = envdoctor("undo", "--env", world.environment)
    assert outcome.code == 0
    assert f"not as it was: {SITE}/gamma/__init__.py" in " ".join(outcome.err.split())
    assert "left behind" not in outcome.err


def test_a_file_that_was_put_anew_after_a_change_file_by_file_comes_back(world: World, healthy: Verify) -> None:
    (world.environment / "train.py").write_text("print('mine')")
    apply(world.change(), verify=healthy, progress=quiet)
    module = world.environment / SITE / "alpha" / "__init__.py"
    module.unlink()
    module.write_text("version = 'mine'\n")
    with pytest.raises(Trouble, match=rf"leave behind .*{SITE}/alpha/__init__\.py"):
        undo(world.environment)
    undo(world.environment, agree=lambda departure: None)
    assert world.version("alpha") == "1.0"
    undo(world.environment, to=1)
    assert world.version("alpha") == "mine"


def test_a_record_that_is_gone_is_said(world: World, healthy: Verify) -> None:
    apply(world.change(), verify=healthy, progress=quiet)
    next(world.environment.parent.glob(".envdoctor-*.journal/state-1.json")).unlink()
    with pytest.raises(Trouble, match="no record of this state"):
        undo(world.environment)


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_git_sees_no_kept_state(world: World, tmp_path: Path) -> None:
    """An environment as ``python -m venv`` of 3.11 makes them, with no .gitignore of its own."""
    (world.environment / ".gitignore").unlink()
    before = snapshot(world.environment)
    git(tmp_path, "init", "--quiet")
    (tmp_path / ".gitignore").write_text(".venv/\nwheels/\nhome/\nlocks/\n")
    seen = []

    def verify(clone: Path) -> None:
        seen.append(git(tmp_path, "status", "--porcelain"))

    for _ in range(2):
        apply(world.change(), verify=verify, progress=quiet)
        seen.append(git(tmp_path, "status", "--porcelain"))
        assert not (world.environment / ".gitignore").exists()
        undo(world.environment)
        seen.append(git(tmp_path, "status", "--porcelain"))
        assert snapshot(world.environment) == before
    assert set(seen) == {"?? .gitignore\n"}
    assert len([name for name in leftovers(world.environment) if not name.endswith(".journal")]) == 2


def test_fix_names_what_it_could_not_take_over(world: World, tmp_path: Path) -> None:
    """A file that is held open for writing would go on in the old state."""
    (world.environment / "etc").mkdir()
    code = "import sys; f = open(sys.argv[1], 'a'); print(1, flush=True); input()"
    base = os.path.realpath(sys.executable)
    process = subprocess.Popen([base, "-c", code, world.environment / "etc" / "run.log"], stdin=-1, stdout=-1)
    try:
        assert process.stdout is not None
        process.stdout.read(1)
        refused = envdoctor(*fix_words(write_target(world, tmp_path / "locks"), world.environment))
        assert refused.code == 3
        assert f"etc/run.log is being written to by {os.path.basename(base)} (process {process.pid})" in " ".join(
            refused.err.split()
        )
        assert world.version("alpha") == "1.0"
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("kind", ["exchange", "file-by-file"])
def test_what_the_change_itself_rewrites_is_not_taken_for_others_work(world: World, healthy: Verify, kind: str) -> None:
    """One change right after the other: the files of the first are as young as if they had just been written to."""
    if kind == "file-by-file":
        (world.environment / "train.py").write_text("print('mine')")
    apply(world.change(variables={"OMP_WAIT_POLICY": "passive"}), verify=healthy, progress=quiet)
    for _ in range(3):
        hook = world.environment / SITE / "envdoctor-startup.pth"
        later = time.time_ns() + 60_000_000  # as if by a writer of this instant
        os.utime(hook, ns=(later, later))
        change = world.change(install=(), variables={"OMP_NUM_THREADS": "4"})
        assert apply(change, verify=lambda clone: time.sleep(0.1), progress=quiet).strategy.kind == kind
        assert "OMP_NUM_THREADS" in hook.read_text()
