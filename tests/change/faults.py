"""Killing `fix` at every step, and what must be true afterwards.

``Arena`` holds one small environment with its old and its new state, each known bit for bit. A trial runs `fix` in a
process of its own - the command line, to be killed at one moment, or its change engine, to be killed or failed at one
system call (strace) - and then asks: is the environment OLD or NEW, without a third possibility? Did it claim success
only if it is NEW? Does one more plain run reach NEW, and is nothing left beside it but the journal and the states it
names?

strace counts each kind of call by itself, and with ``-f`` in each thread by itself. So a point is "the n-th rename",
and faults are injected into one part of a run: into envdoctor alone, or through a wrapper into the installer or into
the Python that compiles the startup hook; there either the child alone dies, or envdoctor with it. Only calls that
succeed in a clean run are points: a call that fails has changed nothing. uv is kept to one thread of each kind, so that
few points belong to two threads.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from envdoctor.change import apply, installers, recover, undo
from envdoctor.change.installers import find_uv
from envdoctor.errors import Trouble
from envdoctor.launch import hook
from tests.change.conftest import fix_words, leftovers, make_world, snapshot, write_target
from tests.change.driver import through

# What changes a file system. Of the calls that open a file those count that make or empty it.
OPENING = ("open", "openat", "creat")
CALLS = (
    "link,linkat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,symlink,symlinkat,write,pwrite64,"
    "writev,ftruncate,truncate,copy_file_range,sendfile,chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,"
    "utimensat,fsync,fdatasync,syncfs,setxattr,fsetxattr," + ",".join(OPENING)
)
ROOT = Path(__file__).parents[2]

Point = tuple[str, int]  # a system call and which one of its kind
Installer = Literal["uv", "pip"]
Part = Literal["envdoctor", "wrap", "compile"]  # of a run: itself, the installer, the compiling of the startup hook


@dataclass(slots=True)
class Ending:
    """How a driver ended: its exit code (negative: signal), what it said, whether a fault in a child was reached."""

    code: int
    said: str
    hit: bool = False


class Arena:
    """One environment, its two states, and a pristine copy to start each trial from."""

    def __init__(
        self, folder: Path, *, installer: Installer = "uv", project: bool = False, by_engine: bool = False
    ) -> None:
        """``project`` puts a file of the user's own into the environment, so that it is changed file by file.

        ``by_engine``: plain runs are calls of the change engine (with uv, whatever was killed), not of the command
        line, which takes several times as long.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.installer = installer
        self.journaled = project
        self.by_engine = by_engine
        self.seen = ""  # the state right after the latest fault
        self.environment = folder / ".venv"
        self.pristine = folder / "pristine"
        self.world = make_world(folder)
        self.target = write_target(self.world, folder / "locks")
        if project:
            (self.environment / "train.py").write_text("print('mine')")
        shutil.copytree(self.environment, self.pristine, symlinks=True)
        self.old = snapshot(self.environment)
        self.new = []  # the two installers' differ: each signs what it has installed
        for one in {self.installer, "uv"} if by_engine else {self.installer}:
            ending = self.engine(installer=one) if by_engine else self.run()
            assert ending.code == 0, ending.said
            self.new.append(snapshot(self.environment))
            self.reset()
        assert self.old not in self.new

    def reset(self) -> None:
        for path in self.folder.iterdir():
            if path.name.startswith(".envdoctor-"):
                shutil.rmtree(path)
        shutil.rmtree(self.environment, ignore_errors=True)
        shutil.copytree(self.pristine, self.environment, symlinks=True)

    def fix(self) -> list[str]:
        return [*fix_words(self.target, self.environment), "--installer", self.installer]

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start the command line in a process of its own; it says "ready" when its imports are done."""
        return subprocess.Popen(
            [sys.executable, "-m", "tests.change.driver", *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            # A background job of a shell inherits an ignored SIGINT; the driver must react to it.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        )

    def run(self, *words: str) -> Ending:
        """Run `fix`, or other words of envdoctor, to the end: by the engine where this arena is one of engines."""
        if self.by_engine:
            return self.engine(words[0] if words else "fix", installer="uv")
        process = self.start(*(words or self.fix()))
        said, _ = process.communicate(timeout=120)
        return Ending(code=process.returncode, said=said)

    def state(self) -> str:
        if not self.environment.is_dir():
            return "NONE"
        found = snapshot(self.environment)
        return "OLD" if found == self.old else "NEW" if found in self.new else "MIXED"

    def litter(self) -> list[str]:
        """Siblings that the journal does not account for."""
        known = {".envdoctor-.venv.journal"}
        journal = self.folder / ".envdoctor-.venv.journal" / "journal.json"
        if journal.exists():
            data = json.loads(journal.read_text())
            known |= {f".envdoctor-.venv-{state['slot']}" for state in data["states"]}
            known |= {"pending"} if data["pending"] or data["doomed"] else set()
        return [name for name in leftovers(self.environment) if name not in known]

    def judge(self, ending: Ending, *, journaled: bool | None = None) -> list[str]:
        """What is wrong after a fault, and after one more plain run; empty when all is well.

        ``journaled``: where no exchange is possible, a kill may leave what the next command repairs before all else.
        """
        wrong = []
        state = self.seen = self.state()
        if (self.journaled if journaled is None else journaled) and state not in ("OLD", "NEW"):
            repaired = self.run("recover", str(self.environment))
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

    def points(self, part: Part, words: str = "fix", extra: tuple[str, ...] = ()) -> list[Point]:
        """Every mutating system call of a clean run, in one part of it, as points to inject a fault at.

        Children have threads, each with a count of its own: a point is reached by whichever thread gets there first.
        """
        counts = self.folder / "counts"
        trace = ("strace", "-qq", "-o", str(counts), "-e", f"trace={CALLS}", *extra)
        if part == "envdoctor":
            ending = self.forked(words, trace=trace)
        else:
            ending = self.forked(words, wrap=(part, self._script(f"exec {_joined(trace)} -f")))
        assert ending.code == 0, ending.said
        seen: dict[tuple[str, str], int] = {}
        found: set[Point] = set()
        for line in counts.read_text(errors="replace").splitlines():
            if match := re.match(r"(\d+ +)?(\w+)\(", line):
                key = (match[1] or "", match[2])
                seen[key] = seen.get(key, 0) + 1
                makes = match[2] not in OPENING or "O_CREAT" in line or "O_TRUNC" in line
                if makes and not re.search(r" = -1 E\w+ ", line):
                    found.add((match[2], seen[key]))
        counts.unlink()
        self.reset()
        return sorted(found)

    def inject(
        self,
        part: Part,
        what: str,
        point: Point,
        words: str = "fix",
        *,
        together: bool = False,
        extra: tuple[str, ...] = (),
    ) -> Ending:
        """Run with ``what`` ("signal=SIGKILL", "error=ENOSPC") at one call, before it is carried out.

        ``together``: envdoctor is killed as soon as the child has failed. ``extra`` are further words for strace, which
        injects into traced calls alone: those that it names are traced too.
        """
        name, number = point
        traced = ",".join([name, *(word.split(":")[0].removeprefix("inject=") for word in extra if "inject=" in word)])
        rule: tuple[str, ...] = ("strace", "-qq", "-o", str(self.folder / "seen"), "-e", f"trace={traced}")
        rule += ("-e", f"inject={name}:{what}:when={number}", *extra)
        if part == "envdoctor":
            ending = self.forked(words, trace=rule)
            calls = (self.folder / "seen").read_text(errors="replace").splitlines()
            ending.hit = ending.code < 0 or any("(INJECTED)" in call for call in calls if call.startswith(f"{name}("))
            return ending
        hit = self.folder / "hit"
        ended = f"touch '{hit}'" + ("; kill -9 $PPID" if together else "")
        script = self._script(f"{_joined(rule)} -f", f"code=$?; [ $code -eq 0 ] || {{ {ended}; }}; exit $code")
        ending = self.forked(words, wrap=(part, script))
        ending.hit = hit.exists() or "(INJECTED)" in (self.folder / "seen").read_text(errors="replace")
        hit.unlink(missing_ok=True)
        return ending

    def forked(
        self,
        words: str,
        *,
        trace: tuple[str, ...] = (),
        wrap: tuple[Part, Path] | None = None,
        signal_after: tuple[float, signal.Signals, bool] | None = None,
    ) -> Ending:
        """Run the change engine in a process of its own, made by fork: nothing has to be imported first.

        ``trace`` is a strace that holds on to it before its first step; ``wrap`` starts one of its children;
        ``signal_after`` so many seconds is sent to it, or to its children as well.
        """
        said = self.folder / "said"
        process = os.fork()
        if process == 0:
            self._child(words, said, wrap)
        os.waitpid(process, os.WUNTRACED)
        tracer = subprocess.Popen([*trace, "-p", str(process)], stderr=subprocess.DEVNULL) if trace else None
        while tracer is not None and "TracerPid:\t0\n" in Path(f"/proc/{process}/status").read_text():
            time.sleep(0.002)
        os.kill(process, signal.SIGCONT)
        if signal_after is not None:
            time.sleep(signal_after[0])
            _send(process, signal_after[1], group=signal_after[2])
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if tracer is not None:
            tracer.wait(30)
        return Ending(code=code, said=said.read_text(errors="replace"))

    def _child(self, words: str, said: Path, wrap: tuple[Part, Path] | None) -> None:
        code = 70
        try:
            output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            if wrap is not None:
                module: Any = {"wrap": installers, "compile": hook}[wrap[0]]
                module.run = through(module.run, str(wrap[1]))
            os.kill(os.getpid(), signal.SIGSTOP)
            ending = self.engine(words)
            code = ending.code
            os.write(1, ending.said.encode())
        finally:
            os._exit(code)

    def engine(self, words: str = "fix", installer: Installer | None = None) -> Ending:
        """The change engine in this process, with the endings of the command line."""
        try:
            if words == "recover":
                recover.recover(self.environment)
            elif words == "undo":
                undo.undo(self.environment)
            else:
                # By force: the search for programs that run from it opens as many files as there are processes.
                change = self.world.change(
                    force=True,
                    install=self.world.new[:1],
                    installer=installer or self.installer,
                    variables={"OMP_WAIT_POLICY": "passive"},
                )
                apply.apply(change, verify=_verify, progress=lambda line: None)
        except Trouble as trouble:
            return Ending(code=trouble.exit_code, said=f"{trouble} | {trouble.remedy}")
        except KeyboardInterrupt:
            return Ending(code=130, said="interrupted")
        except SystemExit as stopped:  # SIGTERM and SIGHUP, as the command line hands them on
            return Ending(code=int(stopped.code or 0), said="stopped")
        except Exception:  # noqa: BLE001 - a bug, which the trial reports
            return Ending(code=70, said=traceback.format_exc())
        return Ending(code=0, said="")

    def _script(self, command: str, after: str = "") -> Path:
        path = self.folder / "wrap.sh"
        single = "export RAYON_NUM_THREADS=1 TOKIO_WORKER_THREADS=1 UV_CONCURRENT_INSTALLS=1 UV_CONCURRENT_DOWNLOADS=1"
        path.write_text(f'#!/bin/sh\n{single}\n{command} "$@"\n{after}\n')
        path.chmod(0o755)
        return path


def _verify(clone: Path) -> str | None:
    code = "import alpha; print(alpha.version)"
    said = subprocess.run([clone / "bin" / "python", "-c", code], capture_output=True, text=True, timeout=60)
    return None if said.stdout.split() == ["2.0"] else f"{said.stdout} {said.stderr}"


def _joined(words: tuple[str, ...]) -> str:
    return " ".join(f"'{word}'" for word in words)


def kill_after(arena: Arena, seconds: float, number: signal.Signals, *, group: bool) -> Ending:
    """Send a signal to a `fix`, or to it and all it has started, so many seconds after its imports."""
    if arena.by_engine:
        return arena.forked("fix", signal_after=(seconds, number, group))
    process = arena.start(*arena.fix())
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(seconds)
    _send(process.pid, number, group=group)
    said, _ = process.communicate(timeout=60)
    return Ending(code=process.returncode, said=said)


def _send(process: int, number: signal.Signals, *, group: bool) -> None:
    for victim in [process, *(_children(process) if group else ())]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, number)


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
