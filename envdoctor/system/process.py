"""The one place that starts other programs; every child has a deadline.

``subprocess.run(timeout=...)`` waits for the child it has just killed, and a child stuck inside a driver call (state D)
never dies: the time limit itself would hang. Here the child gets a session of its own, the group is killed, and a
child that still will not die is abandoned.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from envdoctor.errors import Trouble
from envdoctor.values.frozen import frozen

OUTPUT_LIMIT = 4 * 1024 * 1024  # bytes kept of each stream; a child that prints more is read on, but not remembered
SAVE_SECONDS = 10.0  # for a training that is told to end to write its checkpoint; Slurm gives 30 s, Kubernetes too
REAP_SECONDS = 1.0  # how long a killed child may take to disappear before it is abandoned


@frozen
class Outcome:
    """How a child ended: ``code`` is None when it was killed at its deadline or could not be started."""

    argv: tuple[str, ...]
    code: int | None
    out: str
    err: str
    seconds: float
    timed_out: bool = False
    not_started: str | None = None

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def ending(self) -> str:
        """The ending in words, for a report: ``exit code 3``, ``SIGSEGV``, ``no answer within 20 s``."""
        if self.not_started is not None:
            return self.not_started
        if self.timed_out:
            return f"no answer within {self.seconds:.0f} s"
        if self.code is not None and self.code < 0:
            with contextlib.suppress(ValueError):
                return signal.Signals(-self.code).name
        return f"exit code {self.code}"


class _Tether:
    """A pipe that nobody writes to, whose other end a child inherits. When the last process that could write ends, the
    kernel sends the signal that was asked for on the reading end (fcntl(2): F_SETOWN, F_SETSIG, O_ASYNC). Unlike
    PR_SET_PDEATHSIG it reaches the whole group, whichever thread started the child, and costs nothing before it runs.
    """

    def __init__(self) -> None:
        self._ends: list[int] = []  # of the pipe: to read from, to write to

    def make(self) -> tuple[int, ...]:
        """Make the pipe; the descriptor that the child inherits. Raises `OSError` where there are none left."""
        self._ends = list(os.pipe())
        return (self._ends[0],)

    def tie(self, group: int) -> None:
        """The process group gets a SIGKILL when this process ends."""
        if not self._ends:
            return
        import fcntl

        mouth = self._ends.pop(0)
        with contextlib.suppress(OSError):  # a sandbox that has none of it: the child ends with its deadline only
            fcntl.fcntl(mouth, fcntl.F_SETOWN, -group)
            fcntl.fcntl(mouth, fcntl.F_SETSIG, signal.SIGKILL)
            fcntl.fcntl(mouth, fcntl.F_SETFL, fcntl.fcntl(mouth, fcntl.F_GETFL) | os.O_ASYNC)
        os.close(mouth)

    def cut(self) -> None:
        """The child has ended. What it left in its group ends with it."""
        ends, self._ends = self._ends, []
        for end in ends:
            os.close(end)


class Child:
    """A running child whose output is collected until it ends or its deadline passes.

    Start several, then ``wait`` for each: that is how probes run side by side.
    """

    def __init__(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        deadline: float,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        pass_fds: Sequence[int] = (),
        leash: bool | signal.Signals = False,
    ) -> None:
        """On Linux the child's group is killed when we end, even by a SIGKILL that leaves us no time to do it.
        ``leash``: so is a child that has closed what it inherited; or it gets this signal then, not SIGKILL."""
        self.argv = tuple(os.fspath(word) for word in argv)
        self._started = time.monotonic()
        self._deadline = self._started + deadline
        self._not_started: str | None = None
        self._popen: subprocess.Popen[bytes] | None = None
        self._reaping = threading.Lock()  # between a look that it has not been reaped, and a signal by its number
        self._tether = _Tether()
        softer = not isinstance(leash, bool) and leash != signal.SIGKILL
        try:
            inherited = () if softer or not sys.platform.startswith("linux") else self._tether.make()
            self._popen = subprocess.Popen(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=None if env is None else dict(env),
                cwd=cwd,
                start_new_session=True,
                pass_fds=(*pass_fds, *inherited),
                preexec_fn=_leash(signal.SIGKILL if leash is True else leash) if leash else None,
            )
            self._tether.tie(self._popen.pid)
        except OSError as error:
            self._not_started = f"{self.argv[0]}: {error.strerror or error}"
            self._tether.cut()

    def wait(self, on_line: Callable[[str], None] | None = None) -> Outcome:
        """Collect the output until the end; ``on_line`` receives each line of stderr as it comes."""
        if self._popen is None:
            return self._outcome(None, b"", b"", timed_out=False)
        out, err, timed_out = self._read(self._popen, on_line)
        code = None if timed_out else self._reap(self._popen)
        if timed_out or code is None:
            self.kill()
            timed_out = True
            code = None
        self._tether.cut()
        return self._outcome(code, out, err, timed_out=timed_out)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the child's whole group, while another thread waits for it."""
        if self._popen is None:
            return
        with self._reaping, contextlib.suppress(ProcessLookupError, PermissionError):
            if self._popen.returncode is None:  # else its number may be another program's by now
                os.killpg(self._popen.pid, number)

    def kill(self) -> None:
        """Kill the child's whole group; abandon it if it does not die."""
        if self._popen is None:
            return
        self.send(signal.SIGKILL)
        with self._reaping, contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(REAP_SECONDS)
        self._tether.cut()
        for stream in (self._popen.stdout, self._popen.stderr):
            if stream is not None:
                stream.close()

    def _read(self, popen: subprocess.Popen[bytes], on_line: Callable[[str], None] | None) -> tuple[bytes, bytes, bool]:
        assert popen.stdout is not None
        assert popen.stderr is not None
        kept: dict[IO[bytes], bytearray] = {popen.stdout: bytearray(), popen.stderr: bytearray()}
        tail = b""
        exited_at: float | None = None
        with selectors.DefaultSelector() as selector:
            for stream in kept:
                selector.register(stream, selectors.EVENT_READ)
            while selector.get_map():
                remaining = self._deadline - time.monotonic()
                if remaining <= 0:
                    if not _has_ended(popen):
                        return bytes(kept[popen.stdout]), bytes(kept[popen.stderr]), True
                    # It ended, perhaps in time and only waited for late: what it left in its pipes is still taken.
                    exited_at = exited_at or time.monotonic()
                    if time.monotonic() - exited_at > REAP_SECONDS:
                        break
                ready = selector.select(min(max(remaining, 0.0), 0.1))
                for key, _ in ready:
                    stream = popen.stdout if key.fileobj is popen.stdout else popen.stderr
                    chunk = os.read(stream.fileno(), 65536)
                    if not chunk:
                        selector.unregister(stream)
                        continue
                    room = OUTPUT_LIMIT - len(kept[stream])
                    kept[stream] += chunk[: max(room, 0)]
                    if on_line is not None and stream is popen.stderr:
                        *lines, tail = (tail + chunk).replace(b"\r", b"\n").split(b"\n")
                        for line in lines:
                            on_line(line.decode(errors="replace"))
                # A grandchild may hold the pipes open after the child itself has ended; its output is not waited for.
                if not ready and _has_ended(popen):
                    exited_at = exited_at or time.monotonic()
                    if time.monotonic() - exited_at > REAP_SECONDS:
                        break
        if on_line is not None and tail:
            on_line(tail.decode(errors="replace"))
        return bytes(kept[popen.stdout]), bytes(kept[popen.stderr]), False

    def _reap(self, popen: subprocess.Popen[bytes]) -> int | None:
        """The child's exit code, None when it goes on. What it started in its group and left behind is ended with it:
        that is known by the child's number, which is nobody else's until the child has been waited for."""
        give_up = time.monotonic() + max(self._deadline - time.monotonic(), REAP_SECONDS)
        pause = 0.0005
        while not _has_ended(popen):
            if time.monotonic() > give_up:
                return None
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        self.send(signal.SIGKILL)
        with self._reaping:
            code = popen.wait()
        for stream in (popen.stdout, popen.stderr):
            if stream is not None:
                stream.close()
        return code

    def _outcome(self, code: int | None, out: bytes, err: bytes, *, timed_out: bool) -> Outcome:
        return Outcome(
            argv=self.argv,
            code=code,
            out=out.decode(errors="replace"),
            err=err.decode(errors="replace"),
            seconds=time.monotonic() - self._started,
            timed_out=timed_out,
            not_started=self._not_started,
        )


def _has_ended(popen: subprocess.Popen[bytes]) -> bool:
    """Whether a child has ended. It is not waited for yet, so that its number stays its own."""
    if popen.returncode is not None or not hasattr(os, "waitid"):  # macOS
        return popen.poll() is not None
    try:
        return os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # where SIGCHLD is ignored, nobody has to be waited for
        return popen.poll() is not None


def _code_of(popen: subprocess.Popen[bytes], remaining: float) -> int:
    """The exit code of a child that is waited for. Raises TimeoutExpired.

    Ctrl-C may come between the reaping of a child and the noting of its code; `Popen.wait` answers 0 ever after, so a
    job that was interrupted would pass for one that succeeded. Here the code is read before the child is reaped.
    """
    if not hasattr(os, "waitid"):  # macOS
        return popen.wait(None if remaining == float("inf") else max(remaining, 0.0))
    give_up, pause, how = time.monotonic() + remaining, 0.0005, os.WEXITED | os.WNOWAIT
    while popen.returncode is None:
        try:
            found = os.waitid(os.P_PID, popen.pid, how if remaining == float("inf") else how | os.WNOHANG)
        except ChildProcessError:  # where SIGCHLD is ignored, its code is nowhere
            return popen.wait()
        if found is not None:
            code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
            with contextlib.suppress(KeyboardInterrupt):
                popen.wait()
            popen.returncode = code
        elif time.monotonic() > give_up:
            raise subprocess.TimeoutExpired(popen.args, remaining)
        else:
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
    return int(popen.returncode)


def run(
    argv: Sequence[str | os.PathLike[str]],
    *,
    deadline: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    pass_fds: Sequence[int] = (),
    on_line: Callable[[str], None] | None = None,
    leash: bool = False,
) -> Outcome:
    """Run a program to its end, at most ``deadline`` seconds; never raises for what the program does."""
    child = Child(argv, deadline=deadline, env=env, cwd=cwd, pass_fds=pass_fds, leash=leash)
    try:
        return child.wait(on_line)
    except BaseException:
        child.kill()
        raise


def _end(popen: subprocess.Popen[bytes]) -> None:
    popen.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        popen.wait(SAVE_SECONDS)
    popen.kill()


def _leash(number: signal.Signals) -> Callable[[], None] | None:
    """What a child does before it becomes another program: ask Linux for a signal at its parent's death."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes  # 6 ms: not for those who start no such child

    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def tie() -> None:
        prctl(1, int(number))  # PR_SET_PDEATHSIG
        if os.getppid() != parent:  # it died in between
            os._exit(1)

    return tie


def _not_started(name: str, error: OSError, path: str) -> Trouble:
    """As shells answer: 127 for a command that is nowhere, 126 for a file that cannot be run."""
    if isinstance(error, FileNotFoundError):
        here = {entry for folder in path.split(os.pathsep) if os.path.isdir(folder) for entry in os.listdir(folder)}
        import difflib

        near = difflib.get_close_matches(os.path.basename(name), sorted(here), n=1)
        remedy = f"Did you mean {near[0]}?" if near else "Check the name, or give the command's path."
        first = path.split(os.pathsep)[0]
        return Trouble(f"command not found in {first} or elsewhere on PATH", where=name, remedy=remedy, exit_code=127)
    problem = f"cannot be run: {error.strerror or error}"
    return Trouble(problem, where=name, remedy="Is it a program? Scripts are run as: python FILE", exit_code=126)


def run_attached(
    argv: Sequence[str | os.PathLike[str]],
    *,
    deadline: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdout_to_stderr: bool = False,
) -> int:
    """Run a program on the user's own terminal and return its exit code (128 + n for signal n, 124 at the deadline).

    The trainer and the user's own commands run this way: their progress bars are theirs, Ctrl-C reaches them, and
    they are given time to save before they are killed, also when we are told to stop ourselves (see `stoppable`).
    ``stdout_to_stderr`` keeps our own standard output for data.
    """
    started = time.monotonic()
    try:
        popen = subprocess.Popen(
            [os.fspath(word) for word in argv],
            env=None if env is None else dict(env),
            cwd=cwd,
            stdout=2 if stdout_to_stderr else None,
            preexec_fn=_leash(signal.SIGTERM),
        )
    except OSError as error:
        raise _not_started(os.fspath(argv[0]), error, (os.environ if env is None else env).get("PATH", "")) from error
    interrupts = 0
    while True:
        try:
            code = _code_of(popen, deadline - (time.monotonic() - started))
            break
        except subprocess.TimeoutExpired:
            _end(popen)
            return 124
        except SystemExit:
            _end(popen)
            raise
        except KeyboardInterrupt:
            # The terminal has sent the child the same signal: let it save; a second Ctrl-C does not wait.
            interrupts += 1
            if interrupts > 1:
                popen.kill()
    return code if code >= 0 else 128 - code
