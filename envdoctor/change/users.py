"""Who runs from an environment: such a program would load the new files lazily, in the middle of its old ones.

Everything comes from /proc. A Python of a virtual environment is a link to the base interpreter, so its ``exe`` says
nothing: what tells is the name it was started by, and the libraries it has mapped.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from envdoctor.change.layout import asks
from envdoctor.change.places import Places
from envdoctor.errors import Trouble

_PROBE = re.compile(r"/envdoctor/(facts/)?probe/\w+\.py$")  # of this version, and of those before it
_END_SECONDS = 10.0  # how long a killed process may take to disappear


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A process that runs from an environment, and how that is known."""

    process: int
    name: str
    because: str


def users(*folders: Path) -> tuple[User, ...]:
    """The processes that run from any of these directories; this process and those above it are left out.

    So are the probes of another envdoctor: they end within moments, and what waits its turn must not stop what has it.
    Other users' processes are seen by root only.
    """
    return tuple(user for user in _running_programs(folders) if not _of_envdoctor(Path("/proc", str(user.process))))


def end(folder: Path) -> None:
    """Kill what still runs from a clone that nobody wants: the children of an envdoctor that was killed.

    Left alone, they would write bytecode into it, and so bring it back, after it has been deleted.
    """
    give_up = time.monotonic() + _END_SECONDS
    while (found := _running_programs((folder,))) and time.monotonic() < give_up:
        for user in found:
            with contextlib.suppress(OSError):
                os.kill(user.process, signal.SIGKILL)
        time.sleep(0.02)


def _running_programs(folders: Iterable[Path]) -> tuple[User, ...]:
    folders = tuple(folders)
    roots = [os.path.realpath(folder) for folder in folders]
    named = {os.path.abspath(folder) for folder in folders} | set(roots)
    ours = set(_ancestors())
    found = []
    for entry in os.scandir("/proc") if os.path.isdir("/proc") else ():
        if not entry.name.isdigit() or int(entry.name) in ours:
            continue
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            because = _because(Path(entry.path), named)
            if because is not None:
                found.append(User(process=int(entry.name), name=_name(Path(entry.path)), because=because))
    return tuple(found)


def refuse_users(where: Places) -> None:
    """Raises `Trouble` that names the programs which run from the environment, if any do."""
    found = users(where.environment, where.real)
    if found:
        shown = ", ".join(f"{user.name} (process {user.process})" for user in found[:5])
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        raise Trouble(
            f"in use by {shown}{more}: it would load files of the new state in the middle of old ones",
            file=where.environment,
            remedy="Stop it first; --force changes the environment all the same.",
            exit_code=3,
        )


def refuse_writers(where: Places) -> None:
    """Raises `Trouble` that names the programs which have files of the environment open for writing.

    What they write goes on into the state that they opened it in, whatever takes its place.
    """
    roots = {os.fspath(where.real)}
    ours = set(_ancestors())
    for entry in os.scandir("/proc") if os.path.isdir("/proc") else ():
        if not entry.name.isdigit() or int(entry.name) in ours:
            continue
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            if (file := _open_for_writing(Path(entry.path), roots)) is not None:
                raise Trouble(
                    f"{os.path.relpath(file, where.real)} is being written to by {_name(Path(entry.path))} "
                    f"(process {entry.name}), and would go on in the old state",
                    file=where.environment,
                    remedy="Stop it first; --force changes the environment all the same.",
                    exit_code=3,
                )


def _open_for_writing(process: Path, folders: set[str]) -> str | None:
    """A regular file below these folders that a process has open for writing."""
    for link in os.scandir(process / "fd"):
        path = os.readlink(link.path)
        if _below(path, folders) and os.path.isfile(path) and _same_files(process):
            for line in (process / "fdinfo" / link.name).read_text().splitlines():
                if line.startswith("flags:") and int(line.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY:
                    return path
    return None


def _ancestors() -> Iterator[int]:
    process = os.getpid()
    while process > 0:
        yield process
        try:
            process = int(Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return


def _because(process: Path, folders: set[str]) -> str | None:
    if not _same_files(process):
        return None
    program = os.readlink(process / "exe").removesuffix(" (deleted)")
    if _below(program, folders):
        return program
    if os.path.basename(program).startswith(("python", "pypy")):
        started = _started_as(process)
        if started is not None and (_below(started, folders) or _below(_at_home(started), folders)):
            return started
        for place in _on_path(process, folders, alone=started is None):
            return place
    prefixes = [os.fsencode(folder).replace(b"\n", b"\\012") + b"/" for folder in folders]  # as proc(5) escapes it
    with open(process / "maps", "rb") as lines:
        for line in lines:
            if any(prefix in line for prefix in prefixes):
                mapped = line.split(None, 5)[5].rstrip(b"\n").replace(b"\\012", b"\n")
                path = os.fsdecode(mapped).removesuffix(" (deleted)")
                if _below(path, folders):
                    return path
    return None


def _of_envdoctor(process: Path) -> bool:
    """Whether it is a probe or a question that some envdoctor, wherever it is installed, puts to the environment."""
    try:
        words = [os.fsdecode(word) for word in (process / "cmdline").read_bytes().split(b"\0")]
    except OSError:  # it has ended
        return True
    if not words[0]:  # it is ending: what it was can no longer be read, and it loads nothing more
        return True
    return asks(words) or any(_PROBE.search(word) for word in words[1:8])


def _same_files(process: Path) -> bool:
    """Whether the process sees our files under our names: in another container the same path is another file."""
    with contextlib.suppress(OSError):
        if os.readlink(process / "ns" / "mnt") == os.readlink("/proc/self/ns/mnt"):
            return True
        return os.path.samefile(process / "root", "/")
    return True


def _started_as(process: Path) -> str | None:
    """The path behind argv[0] of a Python: as given, against its directory, or along its PATH."""
    word = os.fsdecode((process / "cmdline").read_bytes().split(b"\0", 1)[0])
    if not word or os.path.isabs(word):
        return os.path.normpath(word) if word else None
    if "/" in word:
        return os.path.normpath(os.path.join(os.readlink(process / "cwd"), word))
    for pair in (process / "environ").read_bytes().split(b"\0"):
        if pair.startswith(b"PATH="):
            for folder in os.fsdecode(pair[5:]).split(os.pathsep):
                if os.path.isabs(folder) and os.path.lexists(os.path.join(folder, word)):
                    return os.path.normpath(os.path.join(folder, word))
    return None


def _at_home(program: str) -> str:
    """A Python's path with every link on the way to its environment resolved: bin/python itself is one, and stays."""
    folder, name = os.path.split(program)
    above, last = os.path.split(folder)
    return os.path.join(os.path.realpath(above), last, name)


def _on_path(process: Path, folders: set[str], *, alone: bool) -> Iterator[str]:
    """Folders of PYTHONPATH and PYTHONHOME that lie in one of ``folders``.

    VIRTUAL_ENV is inherited by everything that is started from an active environment, other Pythons too: it counts
    where nothing else (``alone``) tells where a Python belongs.
    """
    names = ("PYTHONPATH", "PYTHONHOME", *(("VIRTUAL_ENV",) if alone else ()))
    for pair in (process / "environ").read_bytes().split(b"\0"):
        name, _, value = os.fsdecode(pair).partition("=")
        for folder in value.split(os.pathsep) if name in names else ():
            if os.path.isabs(folder) and _below(os.path.realpath(folder) + "/", folders):
                yield f"{name}={folder}"


def _below(path: str, folders: set[str]) -> bool:
    return any(path.startswith(folder + "/") for folder in folders)


def _name(process: Path) -> str:
    """Program and script, never further arguments: those may hold passwords."""
    words = (process / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    shown = [os.path.basename(os.fsdecode(words[0]))]
    if len(words) > 1 and not words[1].startswith(b"-"):
        shown.append(os.path.basename(os.fsdecode(words[1])))
    return "".join(c if c.isprintable() else "?" for c in " ".join(shown))[:100] or process.name
