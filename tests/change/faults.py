"""Killing a change at every step, and what must be true afterwards.

``Arena`` holds one small environment with its old and its new state, each known bit for bit. A trial starts
`tests.change.driver` in a process of its own, has it killed or failed at one system call (strace) or at one moment, and
then asks: is the environment OLD or NEW, without a third possibility? Did it claim success only if it is NEW? Does one
more plain run reach NEW, and is nothing left beside it but the journal and the states it names?

System calls are counted by strace in one process only, never across several (``-f`` counts for each thread by itself):
either in envdoctor, or, through a wrapper, in the installer that it starts.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from envdoctor.change.installers import find_uv
from tests.change.conftest import leftovers, make_world, snapshot

# What changes a file system. `openat` is missing on purpose: a file that was created is empty until the first write,
# and the state before that write is a trial of its own.
CALLS = (
    "link,linkat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,symlink,symlinkat,write,pwrite64,"
    "ftruncate,truncate,copy_file_range,sendfile,chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,utimensat,"
    "fsync,fdatasync,syncfs,setxattr"
)
ROOT = Path(__file__).parents[2]


@dataclass(slots=True)
class Ending:
    """How a driver ended: its exit code (negative: signal), and what it said."""

    code: int
    said: str


class Arena:
    """One environment, its two states, and a pristine copy to start each trial from."""

    def __init__(self, folder: Path, *options: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.options = options
        self.environment = folder / ".venv"
        self.pristine = folder / "pristine"
        make_world(folder)
        shutil.copytree(self.environment, self.pristine, symlinks=True)
        self.old = snapshot(self.environment)
        assert self.run().code == 0
        self.new = snapshot(self.environment)
        assert self.new != self.old
        self.reset()

    def reset(self) -> None:
        for path in self.folder.iterdir():
            if path.name.startswith(".envdoctor-"):
                shutil.rmtree(path)
        shutil.rmtree(self.environment, ignore_errors=True)
        shutil.copytree(self.pristine, self.environment, symlinks=True)

    def command(self, *options: str) -> list[str]:
        return [sys.executable, "-m", "tests.change.driver", str(self.folder), "2.0", *self.options, *options]

    def start(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            # A background job of a shell inherits an ignored SIGINT; the driver must react to it.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        )

    def run(self, *prefix: str, options: tuple[str, ...] = ()) -> Ending:
        process = self.start(*prefix, *self.command(*options))
        said, _ = process.communicate(timeout=120)
        return Ending(code=process.returncode, said=said)

    def state(self) -> str:
        if not self.environment.is_dir():
            return "NONE"
        found = snapshot(self.environment)
        return "OLD" if found == self.old else "NEW" if found == self.new else "MIXED"

    def litter(self) -> list[str]:
        """Siblings that the journal does not account for."""
        known = {".envdoctor-.venv.journal"}
        journal = self.folder / ".envdoctor-.venv.journal" / "journal.json"
        if journal.exists():
            data = json.loads(journal.read_text())
            known |= {f".envdoctor-.venv-{state['slot']}" for state in data["states"]}
            known |= {"pending"} if data["pending"] or data["doomed"] else set()
        return [name for name in leftovers(self.environment) if name not in known]

    def judge(self, ending: Ending, *, allow_none: bool = False) -> list[str]:
        """What is wrong after a fault, and after one more plain run; empty when all is well."""
        wrong = []
        state = self.state()
        if state not in ("OLD", "NEW") and not (allow_none and state == "NONE"):
            wrong.append(f"the environment is {state}")
        if ending.code == 0 and state != "NEW":
            wrong.append(f"success was claimed, the environment is {state}")
        if "Traceback" in ending.said:
            wrong.append(f"a traceback: {ending.said[-600:]}")
        again = self.run()
        if again.code != 0 or self.state() != "NEW":
            wrong.append(f"the next run ended with {again.code} and {self.state()}: {again.said[-600:]}")
        if self.litter():
            wrong.append(f"litter: {self.litter()}")
        return wrong

    def calls(self, *prefix: str, inside_installer: bool = False) -> int:
        """How many mutating system calls a clean run makes, in envdoctor or in the installer's busiest thread."""
        counts = self.folder / "counts"
        trace = ["strace", "-qq", "-o", str(counts), "-e", f"trace={CALLS}"]
        self.reset()
        if inside_installer:
            ending = self.run(*prefix, options=("wrap=" + " ".join([*trace, "-f"]),))
        else:
            ending = self.run(*prefix, *trace)
        assert ending.code == 0, ending.said
        lines = counts.read_text(errors="replace").splitlines()
        self.reset()
        if not inside_installer:
            return sum(1 for line in lines if "(" in line)
        threads: dict[str, int] = {}
        for line in lines:
            if match := re.match(r"(\d+) \w+\(", line):
                threads[match[1]] = threads.get(match[1], 0) + 1
        return max(threads.values())


def inject(what: str, number: int, *, follow: bool = False, extra: tuple[str, ...] = ()) -> list[str]:
    """The strace words that do ``what`` ("signal=SIGKILL", "error=ENOSPC") at the ``number``-th mutating call."""
    follows = ["-f"] if follow else []
    return ["strace", "-qq", "-o", "/dev/null", *follows, *extra, "-e", f"trace={CALLS}", "-e",
            f"inject={CALLS}:{what}:when={number}"]  # fmt: skip


def kill_after(arena: Arena, seconds: float, number: signal.Signals, *, group: bool) -> Ending:
    """Send a signal to the driver, or to it and all it has started, so many seconds after its imports."""
    process = arena.start(*arena.command())
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(seconds)
    victims = [process.pid, *(_children(process.pid) if group else ())]
    for victim in victims:
        try:
            os.kill(victim, number)
        except ProcessLookupError:
            continue
    said, _ = process.communicate(timeout=60)
    return Ending(code=process.returncode, said=said)


def _children(process: int) -> Iterator[int]:
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield int(child)
        yield from _children(int(child))


def has_strace() -> bool:
    return shutil.which("strace") is not None and find_uv() is not None
