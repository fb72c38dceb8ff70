"""What a command may meet on somebody else's machine: each row is done to it, and says beforehand what must come of it.

A bad outcome is a traceback or an internal error, a command without an end, an exit code that nobody documented, a
clean bill of what was not seen, or an environment that is neither what it was nor what was asked for.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.change import contents
from tests.change.attacks import Told
from tests.change.bench import CODES, NOBODY, SECONDS, Attack, Bench, adder, main, mounted, trial_of
from tests.change.conftest import World, make_world, snapshot

ATTACKS: dict[str, Attack] = {}
attack = adder(ATTACKS)


# --- what is around the process


@attack
def no_home(b: Bench, chance: random.Random) -> None:
    """Neither HOME nor an entry in passwd: it is looked at and changed all the same."""
    env: dict[str, str | None] = {"HOME": None, "USER": None, "LOGNAME": None, "UV_CACHE_DIR": None}
    b.run(b.check, env=env, codes={0, 1})
    other = ("setpriv", "--reuid=54321", "--regid=54321", "--clear-groups") if _reachable() else ()
    subprocess.run(["chmod", "-R", "a+rX", b.folder], check=True)
    for path in (b.folder, *b.folder.parents[:2]):
        if path.is_relative_to(tempfile.gettempdir()) and path != Path(tempfile.gettempdir()):
            path.chmod(path.stat().st_mode | 0o055)
    done = b.run(b.check, env=env, under=other, codes={0, 1})
    b.expect("could not be" not in done.stdout, f"not seen: {done.stdout[-300:]}")
    done = b.run(b.fix, env=env, codes={0, 2, 3})
    b.old_or_new(done)


@attack
def no_temporary_folder(b: Bench, chance: random.Random) -> None:
    """TMPDIR is missing, a file, unwritable, full, relative or empty: another place is taken."""
    (b.folder / "file").write_text("")
    with mounted(b.folder / "full", "-t", "tmpfs", "-o", "size=16k", "tmpfs") as full:
        (full / "filler").write_bytes(bytes(12_288))
        for place in ("/nowhere/at/all", str(b.folder / "file"), "/proc", str(full), "relative", ""):
            b.run(b.check, env={"TMPDIR": place}, codes={0, 1})
        b.run(b.fix, env={"TMPDIR": str(full)}, codes={0})
    b.expect(b.version() == "2.0", "not changed")


def _reachable() -> bool:
    """May other users start this Python at all?"""
    asked = subprocess.run([*NOBODY, "bash", "-c", f"exec '{sys.executable}' -c 'import json'"], capture_output=True)
    return asked.returncode == 0


@attack
def closed_streams(b: Bench, chance: random.Random) -> None:
    """Each of the three streams closed, or a full device: no success of which nobody could hear, and no traceback."""
    for shell in ("exec <&-;", "exec >&-;", "exec 2>&-;", "exec <&- >&- 2>&-;"):
        b.run(b.check, shell=shell)
        b.run([*b.check, "--format", "json"], shell=shell)
    for words in (b.check, [*b.check, "--format", "json"]):
        done = b.run(words, shell="exec >/dev/full;")
        b.expect(done.returncode != 0, "a success that was written nowhere")
    b.run(b.check, shell="exec 2>/dev/full;")
    done = b.run(b.fix, shell="exec >&- 2>&-;")
    b.old_or_new(done)
    b.run(b.undo, shell="exec >&- 2>&-;")
    b.old_or_new()


@attack
def nobody_reads(b: Bench, chance: random.Random) -> None:
    """The reader of our output is gone (`| head -1`): it ends without a word."""
    for words in (b.check, [*b.check, "--format", "json"], ["rules"], ["--help"]):
        line = '"$0" -m envdoctor "$@" | head -c 1 > /dev/null; exit "${PIPESTATUS[0]}"; :'
        done = subprocess.run(
            ["bash", "-c", line, sys.executable, *words], capture_output=True, text=True, cwd=b.folder, timeout=SECONDS
        )
        b.expect("Traceback" not in done.stderr and "Exception" not in done.stderr, f"{words[0]}: {done.stderr[-300:]}")
        b.expect(done.returncode in {*CODES, 141}, f"{words[0]}: {done.returncode}")


@attack
def few_descriptors(b: Bench, chance: random.Random) -> None:
    """7 to 40 open files (with fewer Python does not start): done, or refused; nothing unread is healthy."""
    for most in (7, 8, 9, 10, 11, 12, 16, 24, 40):
        done = b.run(b.check, shell=f"ulimit -n {most};")
        b.expect(done.returncode != 0, f"healthy with {most} open files")  # the lock asks for other versions
        done = b.run(b.fix, shell=f"ulimit -n {most};")
        b.old_or_new(done)
    b.reaches_new()


@attack
def small_files(b: Bench, chance: random.Random) -> None:
    """No file may be larger than 0, 4 or 64 kB (SIGXFSZ)."""
    for blocks in (0, 4, 64):
        b.run(b.check, shell=f"ulimit -f {blocks};")
        done = b.run(b.fix, shell=f"ulimit -f {blocks};")
        b.old_or_new(done)
    b.reaches_new()


@attack
def little_time(b: Bench, chance: random.Random) -> None:
    """One second of processor time, then the kernel ends it: old or new, and the next run reaches the new."""
    done = b.run(b.fix, shell="ulimit -t 1;", codes={*CODES, -24, 152, 137, -9})
    b.old_or_new(done)
    b.reaches_new()


@attack
def no_processes(b: Bench, chance: random.Random) -> None:
    """A user who may start no process more: what was not asked is unknown, not healthy."""
    if not _reachable():
        b.not_tried = "other users may not start this Python"
        return
    home = b.folder / "theirs"
    home.mkdir(mode=0o777)
    home.chmod(0o777)
    subprocess.run(["chmod", "-R", "a+rX", b.folder], check=True)
    for path in (b.folder, *b.folder.parents[:2]):
        if path.is_relative_to(tempfile.gettempdir()) and path != Path(tempfile.gettempdir()):
            path.chmod(path.stat().st_mode | 0o055)
    env: dict[str, str | None] = {"HOME": str(home), "TMPDIR": str(home), "UV_CACHE_DIR": str(home)}
    done = b.run(b.check, shell="ulimit -u 1;", under=NOBODY, env=env, cwd=home)
    b.expect(done.returncode != 0, "healthy although nothing could be asked")


@attack
def inherited(b: Bench, chance: random.Random) -> None:
    """Ignored SIGCHLD, SIGPIPE and SIGINT, blocked signals, a niceness, a pipe that we were left: nothing is different,
    and nothing that we started keeps the pipe open."""
    for shell in ("trap '' CHLD;", "trap '' PIPE INT HUP;", "umask 000;", "umask 777;"):
        done = b.run(b.check, shell=shell)
        b.expect(done.returncode == 1, f"{shell} {done.returncode} {done.stderr[-200:]}")
    read, write = os.pipe()
    os.set_inheritable(write, True)
    b.run(b.check, pass_fds=(write,))
    os.close(write)
    os.set_blocking(read, False)
    time.sleep(0.2)
    try:
        b.expect(os.read(read, 1) == b"", "something was written")
    except BlockingIOError:
        b.bad.append("a child of ours lives on and holds a descriptor that was not its own")
    os.close(read)
    done = b.run(b.fix, shell="trap '' CHLD; umask 777;", codes={0, 2, 3})
    b.old_or_new(done)


@attack
def languages(b: Bench, chance: random.Random) -> None:
    """The C locale without UTF-8 mode, names that are no UTF-8, an encoding that Python does not know."""
    site = next(b.world.environment.glob("lib/python3*/site-packages"))
    os.makedirs(os.fsencode(site) + b"/data\xff\xfe")
    with open(os.fsencode(site) + b"/data\xff\xfe/caf\xe9.py", "wb") as stream:
        stream.write(b"")
    (site / "überall").mkdir()
    b.before = snapshot(b.world.environment)
    for env in (
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "POSIX", "LANG": "xx_XX.nonsense"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "utf-16"},
    ):
        b.run(b.check, env=dict(env))
        done = b.run([*b.check, "--format", "json"], env=dict(env))
        if "utf-16" not in env.values():
            b.expect(json.loads(done.stdout)["outcome"] == "findings", f"{env}: {done.stdout[:200]}")
        done = b.run(b.fix, env=dict(env))
        b.old_or_new(done)
        b.run(b.undo, env=dict(env))
        b.old_or_new()


@attack
def odd_paths(b: Bench, chance: random.Random) -> None:
    """PATH with blanks, empty parts, files and programs of the names that we start; first the working directory."""
    odd = b.folder / "odd folder"
    odd.mkdir()
    for name in (
        "uv",
        "python",
        "python3",
        "git",
        "pip",
        "nvidia-smi",
        "gcc",
        "ldconfig",
        "sh",
        "env",
        "ninja",
        "nvcc",
    ):
        (odd / name).write_text(f"#!/bin/sh\necho {name} >> '{b.folder}/ran'\nexit 0\n")
        (odd / name).chmod(0o755)
    for path in (f"{odd}:{os.environ['PATH']}", "", ":::", ".", str(odd / "uv"), "a\n b:/usr/bin"):
        b.run(b.check, env={"PATH": path}, cwd=odd)
    done = b.run(b.fix, env={"PATH": f"{odd}:{os.environ['PATH']}"}, cwd=odd)
    b.old_or_new(done)
    ran = (b.folder / "ran").read_text().split() if (b.folder / "ran").exists() else []
    b.expect(set(ran) <= {"nvcc", "gcc", "ninja"}, f"ran: {sorted(set(ran))}")


# --- time and signals


@attack
def stopped(b: Bench, chance: random.Random) -> None:
    """SIGSTOP in the middle of a fix, SIGCONT later: it goes on; a second one meanwhile names who holds the lock."""
    for _ in range(4):
        first = subprocess.Popen(
            [sys.executable, "-m", "envdoctor", *b.fix], cwd=b.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        time.sleep(0.3 + chance.random())
        first.send_signal(signal.SIGSTOP)
        second = b.run(b.fix)
        first.send_signal(signal.SIGCONT)
        said = first.communicate(timeout=SECONDS)[0].decode()
        b.expect(0 in (first.returncode, second.returncode), f"nobody succeeded: {said[-200:]} {second.stderr[-200:]}")
        b.expect("Traceback" not in said, said[-300:])
        b.expect(b.version() == "2.0", "not the new state")
        b.run(b.undo, codes={0})
        b.old_or_new()


@attack
def fix_and_undo_at_once(b: Bench, chance: random.Random) -> None:
    """fix and undo begun at the same moment, twelve times: one after the other, or one is refused by name."""
    b.run(b.fix, codes={0})
    for _ in range(12):
        both = [
            subprocess.Popen(
                [sys.executable, "-m", "envdoctor", *words], cwd=b.folder, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            )
            for words in (b.fix, b.undo)
        ]  # fmt: skip
        for one in both:
            said = one.communicate(timeout=SECONDS)[0]
            b.expect("Traceback" not in said and "internal error" not in said, said[-400:])
            b.expect(one.returncode in CODES, f"exit code {one.returncode}")
        b.expect(b.version() in ("1.0", "2.0"), "neither state")
    b.reaches_new()


@attack
def taken_away(b: Bench, chance: random.Random) -> None:
    """The environment is deleted, renamed or made a link in the middle of a fix: refused in a sentence, or new."""
    elsewhere = b.folder / "elsewhere"
    for how in ("delete", "rename", "link", "file", "empty") * 3:
        started = subprocess.Popen(
            [sys.executable, "-m", "envdoctor", *b.fix], cwd=b.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(0.2 + 1.5 * chance.random())
        environment = b.world.environment
        with contextlib.suppress(OSError):
            environment.rename(elsewhere)
            if how == "link":
                environment.symlink_to(elsewhere)
            elif how == "file":
                environment.write_text("")
            elif how == "empty":
                environment.mkdir()
            elif how == "delete":
                shutil.rmtree(elsewhere, ignore_errors=True)
        said = started.communicate(timeout=SECONDS)[0]
        b.expect("Traceback" not in said and "internal error" not in said, f"{how}: {said[-500:]}")
        b.expect(started.returncode in CODES, f"{how}: exit code {started.returncode}")
        for path in b.folder.iterdir():
            if "venv" in path.name or path == elsewhere:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        fresh = make_world(b.folder / f"again{time.monotonic_ns()}")
        fresh.environment.rename(environment)


# --- where it lies


@attack
def other_places(b: Bench, chance: random.Random) -> None:
    """Through a link, on another file system, bind mounted, on a mount that is read-only."""
    link = b.folder / "link"
    link.symlink_to(b.world.environment)
    through = [str(link) if word == str(b.world.environment) else word for word in b.fix]
    done = b.run(through, codes={0})
    b.expect(b.version() == "2.0" and link.is_symlink(), "through a link")
    b.run(b.undo, codes={0})
    with mounted(b.folder / "other", "-t", "tmpfs", "tmpfs") as other:
        place = other / "env"
        shutil.copytree(b.world.environment, place, symlinks=True)
        moved = [str(place) if word == str(b.world.environment) else word for word in b.fix]
        b.run(moved)
    bound = b.folder / "bound"
    with mounted(bound, "--bind", str(b.world.environment)):
        done = b.run([str(bound) if word == str(b.world.environment) else word for word in b.fix], codes={0, 3})
        b.expect(done.returncode != 0 or b.version() == "2.0", "bind mount: a success that was none")
        b.run(["undo", "--env", str(bound), "--yes"], codes={0})
        b.expect(b.version() == "1.0", "bind mount: undo")
    with mounted(bound, "--bind", str(b.world.environment)):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(bound)], check=True)
        at = [str(bound) if word == str(b.world.environment) else word for word in b.fix]
        done = b.run(at, codes={0, 1, 2, 3})
        b.expect(done.returncode != 0, "read-only: a success that was none")
        b.run([str(bound) if word == str(b.world.environment) else word for word in b.check], codes={0, 1})


@attack
def deep(b: Bench, chance: random.Random) -> None:
    """An environment at the end of a path of 3,500 characters, and of folders of 255: told in a short sentence."""
    for part, count in (("d" * 255, 13), ("d" * 100, 20)):
        place = b.folder
        for _ in range(count):
            place = place / part
            place.mkdir()
        shutil.copytree(b.world.environment, place / "env", symlinks=True)
        for words in (b.check, b.fix):
            done = b.run([str(place / "env") if word == str(b.world.environment) else word for word in words])
            b.expect(len(done.stderr) < 20_000, f"{len(done.stderr)} characters")


ATTACKS |= contents.ATTACKS


def trial(world: World, chance: random.Random, told: Told, number: int) -> None:
    """One attack, for the series of SAFETY.md."""
    trial_of(ATTACKS, world, chance, told, number)


if __name__ == "__main__":
    sys.exit(main(ATTACKS, sys.argv[1:]))
