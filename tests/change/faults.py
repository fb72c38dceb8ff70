"""Killing a change at every step, and what must be true afterwards.

``Arena`` holds one small environment with its old and its new state, each known bit for bit. A trial starts
`tests.change.driver` in a process of its own, has it killed or failed at one system call (strace) or at one moment, and
then asks: is the environment OLD or NEW, without a third possibility? Did it claim success only if it is NEW? Does one
more plain run reach NEW, and is nothing left beside it but the journal and the states it names?

strace counts each kind of call by itself, and with ``-f`` in each thread by itself. So a point is "the n-th rename",
and faults are injected either into envdoctor alone or, through a wrapper, into the installer that it starts.
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

Point = tuple[str, int]  # a system call and which one of its kind


@dataclass(slots=True)
class Ending:
    """How a driver ended: its exit code (negative: signal), and what it said."""

    code: int
    said: str


class Arena:
    """One environment, its two states, and a pristine copy to start each trial from."""

    def __init__(self, folder: Path, *options: str, project: bool = False) -> None:
        """``options`` go to every driver; ``project`` puts a file of the user's own into the environment."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.options = options
        self.environment = folder / ".venv"
        self.pristine = folder / "pristine"
        make_world(folder)
        if project:
            (self.environment / "train.py").write_text("print('mine')")
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

    def judge(self, ending: Ending, *, journaled: bool = False) -> list[str]:
        """What is wrong after a fault, and after one more plain run; empty when all is well.

        ``journaled``: where no exchange is possible, a kill may leave what the next command repairs before all else.
        """
        wrong = []
        state = self.state()
        if journaled and ending.code < 0:
            repaired = self.run(options=("recover",))
            if repaired.code != 0:
                wrong.append(f"recovery ended with {repaired.code}: {repaired.said[-600:]}")
            state = self.state()
        if state not in ("OLD", "NEW"):
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

    def calls(self, *prefix: str, inside_installer: bool = False, options: tuple[str, ...] = ()) -> list[Point]:
        """Every mutating system call of a clean run, in envdoctor or in the installer, as points to inject a fault at.

        The installer has threads, each with a count of its own: a point is reached by whichever thread gets there
        first, and there are as many points as the busiest thread makes calls.
        """
        counts = self.folder / "counts"
        trace = ["strace", "-qq", "-o", str(counts), "-e", f"trace={CALLS}"]
        if inside_installer:
            ending = self.run(*prefix, options=(*options, "wrap=" + " ".join([*trace, "-f"])))
        else:
            ending = self.run(*prefix, *trace, options=options)
        assert ending.code == 0, ending.said
        threads: dict[str, dict[str, int]] = {}
        for line in counts.read_text(errors="replace").splitlines():
            if match := re.match(r"(\d+ +)?(\w+)\(", line):
                made = threads.setdefault(match[1] or "", {})
                made[match[2]] = made.get(match[2], 0) + 1
        counts.unlink()
        self.reset()
        names = {name for made in threads.values() for name in made}
        most = {name: max(made.get(name, 0) for made in threads.values()) for name in names}
        return [(name, number) for name in sorted(most) for number in range(1, most[name] + 1)]


def inject(what: str, point: Point, *, follow: bool = False, extra: tuple[str, ...] = ()) -> list[str]:
    """The strace words that do ``what`` ("signal=SIGKILL", "error=ENOSPC") at one call, before it is carried out."""
    name, number = point
    follows = ["-f"] if follow else []
    rule = f"inject={name}:{what}:when={number}"
    return ["strace", "-qq", "-o", "/dev/null", *follows, *extra, "-e", f"trace={CALLS}", "-e", rule]


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
