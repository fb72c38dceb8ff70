"""Installing pins into a clone, with uv or with pip: by exact version and sha256, wheels only, nothing else.

The installer works on a clone, from the user's own sources, and its exit code is not believed: `apply` compares the
clone with the pins afterwards.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from envdoctor.change.sources import Sources
from envdoctor.errors import Trouble
from envdoctor.process import Outcome, run
from envdoctor.stack import Locked

# A stack with CUDA is 4 GB of wheels: two hours are enough at 0.6 MB/s. It is the limit for a stuck installer only;
# both installers give up by themselves when a server stops sending.
INSTALL_SECONDS = 7200.0
VENV_SECONDS = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Installer:
    """One run's installer: ``program`` is how to start it, ``variables`` its whole environment."""

    name: Literal["uv", "pip"]
    program: tuple[str, ...]
    sources: Sources
    wheels: Path | None
    lock: int  # descriptor of the lock, which the installer keeps taken should envdoctor be killed
    log: Callable[[str], None]

    @property
    def variables(self) -> Mapping[str, str]:
        return self.sources.uv if self.name == "uv" else self.sources.pip


def find_uv() -> str | None:
    """The uv that came with envdoctor, else one on the PATH."""
    name = "uv.exe" if os.name == "nt" else "uv"
    if importlib.util.find_spec("uv") is not None:
        from uv import find_uv_bin

        try:
            return find_uv_bin()
        except FileNotFoundError:
            pass
    return shutil.which(name)


def choose(
    wanted: Literal["uv", "pip"], sources: Sources, wheels: Path | None, lock: int, log: Callable[[str], None]
) -> Installer:
    """uv if it is wanted and there, else pip (see `_pip`)."""
    uv = find_uv() if wanted == "uv" else None
    name: Literal["uv", "pip"] = "uv" if uv else "pip"
    return Installer(name=name, program=(uv,) if uv else (), sources=sources, wheels=wheels, lock=lock, log=log)


def install(
    installer: Installer, pins: Sequence[Locked], python: Path, folder: Path, progress: Callable[[str], None]
) -> None:
    """Install ``pins`` for the interpreter ``python``; ``folder`` takes the requirement file.

    Raises `Trouble` that says which wheel or address failed and what to do about it.
    """
    if not pins:
        return
    requirements = folder / "requirements.txt"
    requirements.write_text("".join(f"{_requirement(pin)}\n" for pin in pins))
    attempts = list(_attempts(installer, pins, python, requirements))
    for number, argv in enumerate(attempts, 1):
        outcome = _run(installer, argv, progress)
        if outcome.ok:
            requirements.unlink()
            return
        if number == len(attempts) or not _not_found(outcome.err + outcome.out):
            raise _trouble(installer, outcome, pins)
        progress(f"not in the configured sources; asking for torch's own build ({attempts[number][-1]})")


def _requirement(pin: Locked) -> str:
    """Exactly this version, in any of the lock's own files for this interpreter."""
    return " ".join((f"{pin.name}=={pin.version}", *(f"--hash=sha256:{digest}" for digest in (pin.sha256, *pin.also))))


def _attempts(
    installer: Installer, pins: Sequence[Locked], python: Path, requirements: Path
) -> Iterator[tuple[str, ...]]:
    if installer.name == "pip":
        yield (*_pip(python), *_pip_install(installer, requirements))
        return
    links = ("--find-links", os.fspath(installer.wheels)) if installer.wheels else ()
    words = (
        *installer.program,
        *("pip", "install", "--python", os.fspath(python), "--requirements", os.fspath(requirements)),
        *("--require-hashes", "--no-deps", "--only-binary", ":all:", "--no-config", "--no-sources"),
        *("--no-python-downloads", "--color", "never", "--no-progress", *links),
    )
    yield words
    # A build with a local label ("2.13.0+cu128") that the user's sources lack is known to uv's torch backends.
    labels = {pin.version.partition("+")[2] for pin in pins}
    for label in sorted(labels):
        if re.fullmatch(r"cpu|cu\d+|rocm[\d.]+|xpu", label):
            yield (*words, "--torch-backend", label)


def _pip(python: Path) -> tuple[str, ...]:
    """The clone's own pip; without one, envdoctor's, told to work on the clone (pip >= 22.3)."""
    own = run([python, "-I", "-c", "import pip"], deadline=30)
    if own.ok:
        return (os.fspath(python), "-I", "-m", "pip")
    if importlib.util.find_spec("pip") is not None:
        return (sys.executable, "-I", "-m", "pip", "--python", os.fspath(python))
    raise Trouble(
        "there is no installer: uv was not found, and neither the environment nor envdoctor's Python has pip",
        remedy="Install uv beside envdoctor: pip install uv",
        exit_code=3,
    )


def _pip_install(installer: Installer, requirements: Path) -> tuple[str, ...]:
    links = ("--find-links", os.fspath(installer.wheels)) if installer.wheels else ()
    return (
        *("install", "--requirement", os.fspath(requirements), "--require-hashes", "--no-deps"),
        *("--only-binary", ":all:", "--no-compile", "--no-warn-script-location", "--no-color", *links),
        *("--progress-bar", "off", "--root-user-action", "ignore", "--no-warn-conflicts"),
    )


def _run(installer: Installer, argv: Sequence[str], progress: Callable[[str], None]) -> Outcome:
    def on_line(line: str) -> None:
        line = installer.sources.redact(line).rstrip()
        if line:
            installer.log(line)
            progress(line.strip())

    installer.log("$ " + installer.sources.redact(" ".join(argv)))
    outcome = run(
        argv,
        deadline=INSTALL_SECONDS,
        env=installer.variables,
        pass_fds=(installer.lock,),
        on_line=on_line,
    )
    if outcome.out:
        installer.log(installer.sources.redact(outcome.out.rstrip()))
    return outcome


_NOT_FOUND = (
    "No solution found",
    "was not found in the package registry",
    "No matching distribution found",
    "There is no version of",
    "no wheels with a matching",
)


def _not_found(text: str) -> bool:
    return any(phrase in text for phrase in _NOT_FOUND)


def _trouble(installer: Installer, outcome: Outcome, pins: Sequence[Locked]) -> Trouble:
    """What an installer's failure means, by the phrases of uv 0.12-0.13 and pip 24-26; else its own last words."""
    text = installer.sources.redact(outcome.err + "\n" + outcome.out)
    words = " ".join(text.split())
    said = _said(text)
    wheel = _wheel(text, pins)
    if "No space left on device" in words or "os error 28" in words:
        problem, remedy = f"the disk is full: {said}", "Free some space; the environment was not changed."
    elif re.search(r"[Hh]ash mismatch|DO NOT MATCH THE HASHES", words):
        problem = "its sha256 is not the locked one: the file is damaged, or it is not the file that was locked"
        remedy = "Clear the cache (uv cache clean) and try again; if it persists, your index serves another file."
    elif re.search(r"os error (13|30)|Permission denied|Read-only file system", words):
        problem, remedy = said, "Make that path writable, or run as its owner."
    elif re.search(r"[Ii]nvalid [Zz]ip|zip|central directory|BadZipFile|not a zip|unexpected end of file", words):
        problem, remedy = f"is not a complete wheel: {said}", "Delete the file and download it again."
    elif _not_found(text):
        problem = f"the configured sources do not have it: {said}"
        remedy = "Name an index or a folder that has it, in pip's or uv's configuration, or put it into wheels/."
    elif re.search(r"dns error|error sending request|timed out|Connection|Temporary failure|Failed to fetch", words):
        problem, remedy = (
            f"the network fails: {said}",
            "Check connection, proxy and index; finished downloads are kept.",
        )
    else:
        problem, remedy = f"{installer.name} failed ({outcome.ending}): {said}", "See the log of this change."
    return Trouble(problem, file=wheel, remedy=remedy, exit_code=3)


def _wheel(text: str, pins: Sequence[Locked]) -> str | None:
    """The wheel that a failure is about: the one that its error names, else the last one mentioned before it."""
    for part in (_error(text), " ".join(text.split())):
        last = {pin.wheel: _last_mention(pin, part) for pin in pins}
        if last and max(last.values()) >= 0:
            return max(last, key=lambda wheel: last[wheel])
    return None


def _last_mention(pin: Locked, text: str) -> int:
    names = rf"{re.escape(pin.wheel)}|(?<![\w.-]){re.escape(pin.name)}(?![\w-])"
    return max((match.start() for match in re.finditer(names, text)), default=-1)


def _said(text: str) -> str:
    """The installer's error in one line, at most 400 characters."""
    sentence = re.sub(r"\b(error|ERROR):\s*", "", _error(text))
    return sentence if len(sentence) <= 400 else sentence[:397] + "..."


def _error(text: str) -> str:
    """What an installer said from its first error on, in one line without its drawing characters."""
    lines = [re.sub(r"^[\s×├╰─▶│]+", "", line).strip() for line in text.splitlines()]
    start = next((i for i, line in enumerate(lines) if re.match(r"(error|ERROR|Caused by)\b", line)), 0)
    return " ".join(line for line in lines[start:] if line)


def new_environment(installer: Installer, path: Path, python: str | None, prompt: str) -> None:
    """Make an empty virtual environment at ``path``. Raises `Trouble` when there is no such Python."""
    base = python or sys.executable
    if installer.name == "uv":
        argv = [
            *installer.program,
            *("venv", "--python", base, "--prompt", prompt, "--no-python-downloads", "--no-project"),
            *("--no-config", "--color", "never", os.fspath(path)),
        ]
    else:
        argv = [_interpreter(base), "-I", "-m", "venv", "--prompt", prompt, os.fspath(path)]
    installer.log("$ " + " ".join(argv))
    outcome = run(argv, deadline=VENV_SECONDS, env=installer.variables, pass_fds=(installer.lock,))
    installer.log(outcome.err.rstrip())
    if not outcome.ok:
        raise Trouble(
            f"no environment can be made with Python {base!r}: {_said(outcome.err) or outcome.ending}",
            file=path,
            remedy="Name an installed interpreter: --python /path/to/python3, or install one: uv python install",
            exit_code=3,
        )


def _interpreter(wanted: str) -> str:
    """A version such as "3.11" as the name of a program; anything else is a path or a name already."""
    return f"python{wanted}" if re.fullmatch(r"\d+\.\d+", wanted) else wanted
