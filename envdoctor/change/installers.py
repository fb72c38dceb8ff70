"""Installing pins into a clone, with uv or with pip: by exact version and sha256, wheels only, nothing else.

The installer works on a clone, from the user's own sources, and its exit code is not believed: `build` compares the
clone with the pins afterwards.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from envdoctor.change.failure import InstallFailure, trouble, understand
from envdoctor.change.log import Log
from envdoctor.errors import Trouble
from envdoctor.locks.stack import Locked
from envdoctor.sources.sources import Sources
from envdoctor.system.process import Outcome, run

# A stack with CUDA is 4 GB of wheels: two hours are enough at 0.6 MB/s. It is the limit for a stuck installer only;
# both installers give up by themselves when a server stops sending.
INSTALL_SECONDS = 7200.0
VENV_SECONDS = 300.0

# What is worth showing while it runs; an error may be that of a first attempt, and a last one is shown by itself.
_PROGRESS = re.compile(r"(Resolved|Prepared|Installed|Downloading|Downloaded|Collecting|Installing|Successfully)\b")

Name = Literal["uv", "pip"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Installer:
    """One change's installer. ``program`` starts uv; pip is looked for in the clone."""

    name: Name
    program: str
    sources: Sources
    wheels: Path | None
    lock: int  # descriptor of the lock, which the installer keeps taken should envdoctor be killed
    log: Log
    progress: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """One way to ask for packages: where from, and with which further words."""

    variables: Mapping[str, str]
    words: tuple[str, ...] = ()


def find_uv() -> str | None:
    """The uv that came with envdoctor, else one on the PATH."""
    if importlib.util.find_spec("uv") is not None:
        from uv import find_uv_bin

        try:
            return find_uv_bin()
        except FileNotFoundError:
            pass
    return shutil.which("uv")


def choose(
    wanted: Name, sources: Sources, wheels: Path | None, lock: int, log: Log, progress: Callable[[str], None]
) -> Installer:
    """uv if it is wanted and there, else pip."""
    uv = find_uv() if wanted == "uv" else None
    name: Name = "uv" if uv else "pip"
    return Installer(name=name, program=uv or "", sources=sources, wheels=wheels, lock=lock, log=log, progress=progress)


def install(
    installer: Installer,
    pins: Sequence[Locked],
    python: Path,
    folder: Path,
    *,
    past_the_cache: bool = False,
    untouched: Callable[[], bool] = lambda: False,
) -> None:
    """Install ``pins`` for the interpreter ``python``; ``folder`` takes the requirement file.

    ``past_the_cache``: uv installs them again, from files that it fetches and hashes now. ``untouched``: whether the
    environment is still what it was, so that what failed without a network may be tried with one.

    uv takes a version from the first index that has it, even when only another index has the locked file; such a
    package is asked for at each index alone, and a torch build that no index has through uv's torch backends.
    Raises `Trouble` that says which wheel or address failed and what to do about it.
    """
    if not pins:
        return
    requirements = folder / "requirements.txt"
    try:
        again = ("--reinstall", "--no-cache", "--link-mode", "copy") if past_the_cache else ()
        _install(installer, pins, python, requirements, again, untouched)
    finally:
        requirements.unlink(missing_ok=True)


def _install(
    installer: Installer,
    pins: Sequence[Locked],
    python: Path,
    requirements: Path,
    more: tuple[str, ...],
    untouched: Callable[[], bool],
) -> None:
    turns = _turns(installer)
    if (alone := _folder_alone(installer, pins)) is not None:
        outcome = _attempt(installer, pins, python, requirements, alone, more)
        if outcome.ok:
            return
        if not more and not untouched():
            raise _trouble(installer, outcome, _failure(installer, outcome, tuple(pins)))
    elif installer.name == "uv" and not more and not turns[0].variables.get("UV_OFFLINE"):
        # What its cache holds needs no index: each package's page was asked for anew, 0.3 s even where all answer at
        # once. The hashes are the same ones.
        outcome = _attempt(installer, pins, python, requirements, turns[0], ("--offline",))
        if outcome.ok:
            return
        if not untouched():  # it failed in the middle: half of a package may be there
            raise _trouble(installer, outcome, _failure(installer, outcome, tuple(pins)))
    batches = [(0, tuple(pins))]
    while batches:
        turn, batch = batches.pop(0)
        outcome = _attempt(installer, batch, python, requirements, turns[turn], more)
        if outcome.ok:
            continue
        failure = _failure(installer, outcome, batch)
        following = _next(installer, failure.cause, failure.pin, turn, turns)
        if failure.pin is None or following is None:
            raise _trouble(installer, outcome, failure)
        if following == len(turns):
            turns.append(_backend(turns[0], failure.pin))
        installer.progress(f"{failure.pin.name} {failure.pin.version} is not there; asking elsewhere")
        rest = tuple(pin for pin in batch if pin is not failure.pin)
        batches = [*([(turn, rest)] if rest else []), *batches, (following, (failure.pin,))]


def _attempt(
    installer: Installer,
    pins: Sequence[Locked],
    python: Path,
    requirements: Path,
    turn: _Turn,
    more: tuple[str, ...],
) -> Outcome:
    requirements.write_text("".join(_requirement(pin) for pin in pins))
    return _run(installer, (*_words(installer, python, requirements, turn), *more), turn.variables)


def _failure(installer: Installer, outcome: Outcome, pins: tuple[Locked, ...]) -> InstallFailure:
    return understand(installer.sources.redact(outcome.err + "\n" + outcome.out), pins)


def _trouble(installer: Installer, outcome: Outcome, failure: InstallFailure) -> Trouble:
    return trouble(failure, installer=installer.name, ending=outcome.ending, log=os.fspath(installer.log.path))


def local_folders(installer: Installer) -> tuple[Path, ...]:
    """Where files of the locked wheels may lie on this machine."""
    links = (
        unquote(urlsplit(link).path) if link.startswith("file:") else link for link in installer.sources.find_links
    )
    return tuple(folder for folder in (installer.wheels, *map(Path, links)) if folder is not None and folder.is_dir())


def _requirement(pin: Locked) -> str:
    hashes = "".join(f" --hash=sha256:{digest}" for digest in (pin.sha256, *pin.also))
    return f"{pin.name}=={pin.version}{hashes}\n"


def _turns(installer: Installer) -> list[_Turn]:
    """All sources together first; for uv then each index by itself."""
    if installer.name == "pip":
        return [_Turn(variables=installer.sources.pip)]
    everything = installer.sources.uv
    alone = {key: value for key, value in everything.items() if key not in ("UV_INDEX", "UV_DEFAULT_INDEX")}
    indexes = (installer.sources.index, *installer.sources.extra) if "UV_INDEX" in everything else ()
    only = [_Turn(variables=alone | ({"UV_DEFAULT_INDEX": index} if index else {})) for index in indexes]
    return [_Turn(variables=everything), *only]


def _folder_alone(installer: Installer, pins: Sequence[Locked]) -> _Turn | None:
    """The folder of wheels beside the lock, where it has the very file of every pin: nobody else is asked then. Another
    source might have another wheel of the same release (for an older Python, say), whose hash the lock knows as well.
    """
    folder = installer.wheels
    if folder is None or not all((folder / pin.wheel).is_file() for pin in pins):
        return None
    uv = installer.name == "uv"
    variables = installer.sources.uv if uv else installer.sources.pip
    asked = ("UV_INDEX", "UV_DEFAULT_INDEX", "UV_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS")
    kept = {name: value for name, value in variables.items() if name not in asked}
    return _Turn(variables={**kept, "UV_NO_INDEX" if uv else "PIP_NO_INDEX": "1"})


def _next(installer: Installer, cause: str, pin: Locked | None, turn: int, turns: list[_Turn]) -> int | None:
    """The turn to try after a failed one, None when there is nothing left to try."""
    if installer.name == "pip" or pin is None or turns[turn].words or cause not in ("wrong-file", "not-found"):
        return None
    indexes_left = turn + 1 < len(turns) and not turns[turn + 1].words
    if indexes_left and (turn > 0 or cause == "wrong-file"):
        return turn + 1
    label = pin.version.partition("+")[2]
    return len(turns) if re.fullmatch(r"cpu|cu\d+|rocm[\d.]+|xpu", label) else None


def _backend(everything: _Turn, pin: Locked) -> _Turn:
    """uv knows where torch publishes the builds of a local label such as "cu128"."""
    return _Turn(variables=everything.variables, words=("--torch-backend", pin.version.partition("+")[2]))


def _words(installer: Installer, python: Path, requirements: Path, turn: _Turn) -> tuple[str, ...]:
    links = ("--find-links", os.fspath(installer.wheels)) if installer.wheels else ()
    checked = ("--require-hashes", "--no-deps", "--only-binary", ":all:", *links)
    if installer.name == "pip":
        quiet = ("--no-warn-script-location", "--no-color", "--progress-bar", "off", "--root-user-action", "ignore")
        return (*_pip(python), "install", "--requirement", os.fspath(requirements), *checked, "--no-compile", *quiet)
    target = ("--python", os.fspath(python), "--requirements", os.fspath(requirements))
    quiet = ("--no-config", "--no-sources", "--no-python-downloads", "--color", "never", "--no-progress")
    closed = (
        ("--no-index",) if turn.variables.get("UV_NO_INDEX") else ()
    )  # uv 0.13 has no such variable, only the option
    return (installer.program, "pip", "install", *target, *checked, *quiet, *closed, *turn.words)


def _pip(python: Path) -> tuple[str, ...]:
    """The clone's own pip; without one, envdoctor's, told to work on the clone (pip >= 22.3)."""
    if run([python, "-I", "-c", "import pip"], deadline=30).ok:
        return (os.fspath(python), "-I", "-m", "pip")
    if importlib.util.find_spec("pip") is not None:
        return (sys.executable, "-I", "-m", "pip", "--python", os.fspath(python))
    raise Trouble(
        "there is no installer: uv was not found, and neither the environment nor envdoctor's Python has pip",
        remedy="Install uv beside envdoctor: pip install uv",
        exit_code=3,
    )


def _run(installer: Installer, argv: Sequence[str], variables: Mapping[str, str]) -> Outcome:
    def on_line(line: str) -> None:
        line = installer.sources.redact(line).rstrip()
        if line:
            installer.log.line(line)
            if _PROGRESS.match(line.strip()):
                installer.progress(line.strip())

    installer.log.line("$ " + installer.sources.redact(" ".join(argv)))
    outcome = run(
        argv, deadline=INSTALL_SECONDS, env=variables, pass_fds=(installer.lock,), on_line=on_line, leash=True
    )
    if outcome.out:
        installer.log.line(installer.sources.redact(outcome.out.rstrip()))
    return outcome


def new_environment(installer: Installer, path: Path, python: str | None, prompt: str) -> None:
    """Make an empty virtual environment at ``path``. Raises `Trouble` when there is no such Python."""
    base = python or sys.executable
    if installer.name == "uv":
        words = ("--prompt", prompt, "--no-python-downloads", "--no-project", "--no-config", "--color", "never")
        argv = [installer.program, "venv", "--python", base, *words, os.fspath(path)]
        variables = installer.sources.uv
    else:
        # A version such as "3.11" is the name of a program; anything else is one already, or a path.
        program = f"python{base}" if re.fullmatch(r"\d+\.\d+", base) else base
        argv = [program, "-I", "-m", "venv", "--prompt", prompt, os.fspath(path)]
        variables = installer.sources.pip
    installer.log.line("$ " + " ".join(argv))
    outcome = run(argv, deadline=VENV_SECONDS, env=variables, pass_fds=(installer.lock,), leash=True)
    installer.log.line(outcome.err.rstrip())
    if not outcome.ok:
        said = understand(outcome.err, ()).said or outcome.ending
        raise Trouble(
            f"no environment can be made with Python {base!r}: {said}",
            file=path,
            remedy="Name an installed interpreter: --python /path/to/python3, or install one: uv python install",
            exit_code=3,
        )
