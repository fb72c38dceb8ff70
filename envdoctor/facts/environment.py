"""Which Python installation is meant: the active one, or the one at a path that the user names."""

from __future__ import annotations

import dataclasses
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from envdoctor.errors import Trouble
from envdoctor.system import process
from envdoctor.values import shell
from envdoctor.values.frozen import frozen

Kind = Literal["venv", "conda", "system"]
Chosen = Literal["argument", "VIRTUAL_ENV", "CONDA_PREFIX", "folder", "PATH"]

_SCRIPTS = "Scripts" if os.name == "nt" else "bin"
_NAMES = ("python.exe",) if os.name == "nt" else ("python", "python3")
_CREATE = "`envdoctor fix --env PATH` creates an environment where there is none."


@frozen
class Environment:
    """An environment: its prefix, its interpreter, and how it was found. Not ``exists``: a place for a new one."""

    path: Path
    python: Path
    kind: Kind = "venv"
    exists: bool = True
    chosen: Chosen = "argument"
    others: tuple[Path, ...] = ()  # environments in the working directory that were not taken

    @property
    def remark(self) -> str:
        """A sentence for the user where the environment was not named, and might not be the one they think; else ""."""
        others = f"; --env names another: {', '.join(map(os.path.relpath, self.others))}" if self.others else ""
        if self.chosen == "folder":
            return f"environment {os.path.relpath(self.path)}: it lies here, and no other is active{others}"
        if self.chosen == "PATH":
            return f"environment {self.path}: the python on PATH, for none is active{others}"
        return f"environment {self.path}: active{others}" if self.others and self.chosen != "argument" else ""

    def require(self) -> Environment:
        """This environment, or `Trouble` when there is nothing at its path yet."""
        if not self.exists:
            raise Trouble("no such environment", file=self.path, remedy=_CREATE)
        return self


def locate(path: Path | None = None, *, environ: Mapping[str, str] | None = None) -> Environment:
    """The environment at ``path`` (a prefix or a python executable), or the one that is meant here.

    That is what ``VIRTUAL_ENV`` or ``CONDA_PREFIX`` names, else one in the working directory, else the first python on
    PATH. The environment that envdoctor itself was installed into is meant only where torch is installed in it too.
    A path where nothing is yields ``exists=False``. Raises `Trouble` for a path that holds something else, for a broken
    environment, and where only envdoctor's own is left.
    """
    if path is not None:
        return _at(Path(os.path.abspath(os.path.expanduser(path))), "argument")
    environ = os.environ if environ is None else environ
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        value = environ.get(name)
        if value:
            found = _at(Path(os.path.abspath(value)), "VIRTUAL_ENV" if name == "VIRTUAL_ENV" else "CONDA_PREFIX")
            if not found.exists:
                remedy = "Run `deactivate` and activate another one, or name it with --env PATH."
                raise Trouble(f"{name} names an environment that is gone", file=found.path, remedy=remedy)
            if not _only_ours(found):
                return found
    here = _in_folder(Path.cwd())
    if here:
        return dataclasses.replace(_at(here[0], "folder"), others=tuple(here[1:]))
    python = _on_path(environ.get("PATH", os.defpath))
    if python is None:
        remedy = "Activate an environment, or name one with --env PATH."
        raise Trouble("no active environment, and no python on PATH", remedy=remedy, exit_code=3)
    found = _of_executable(python, "PATH")
    if _only_ours(found):
        raise Trouble(
            "only envdoctor's own environment is active, and there is no torch in it",
            file=found.path,
            remedy=f"{_of_the_project(Path.cwd())}Name the one to look at: envdoctor check --env PATH\n"
            "  Or make one: envdoctor fix --target auto --env ./env",
            exit_code=3,
        )
    return found


_PROJECTS = {
    "uv.lock": "This project's is not made yet: uv sync\n  ",
    "poetry.lock": 'This project\'s is elsewhere: envdoctor check --env "$(poetry env info --path)"\n  ',
    "Pipfile.lock": 'This project\'s is elsewhere: envdoctor check --env "$(pipenv --venv)"\n  ',
}
"""A lock, and how the tool that wrote it names or makes the project's environment (each tool's own command)."""


def _of_the_project(folder: Path) -> str:
    return next((hint for name, hint in _PROJECTS.items() if (folder / name).is_file()), "")


def _only_ours(found: Environment) -> bool:
    """Is it the environment that envdoctor was installed into, for itself alone? With torch it is for training too."""
    if os.path.realpath(found.path) != os.path.realpath(sys.prefix):
        return False
    return not any(os.path.isdir(os.path.join(folder, "torch")) for folder in sys.path if folder.endswith("-packages"))


def _in_folder(folder: Path) -> list[Path]:
    """Environments in a folder, by the names that people and tools give them; not the one we run in ourselves."""
    places = [folder / name for name in (".venv", "venv", "env", ".env")]
    ours = os.path.realpath(sys.prefix)
    return [place for place in places if (place / "pyvenv.cfg").is_file() and os.path.realpath(place) != ours]


def _at(path: Path, chosen: Chosen) -> Environment:
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        if path.is_symlink():
            problem = f"a broken link to {os.readlink(path)}"
            raise Trouble(problem, file=path, remedy="Name an environment or a python executable.") from error
        return _vacant(path, chosen)
    except (OSError, ValueError) as error:
        text = getattr(error, "strerror", None) or str(error)
        raise Trouble(text, file=path, remedy="Check the path and its permissions.", exit_code=3) from error
    if not stat.S_ISDIR(mode):
        return _of_executable(path, chosen)
    kind: Kind = "system"
    if (path / "pyvenv.cfg").is_file():
        kind = "venv"
    elif (path / "conda-meta").is_dir():
        kind = "conda"
    python = _interpreter(path)
    if python is not None:
        if kind == "system":
            _refuse_bereft(path, python)
        return Environment(path=path, python=python, kind=kind, chosen=chosen)
    _refuse_damaged(path, kind)
    if not any(path.iterdir()):
        return _vacant(path, chosen)
    inner = next((path / name for name in (".venv", "venv", "env") if (path / name / "pyvenv.cfg").is_file()), None)
    remedy = f"Did you mean {inner}?" if inner else "Name a venv, a conda environment or a python executable."
    raise Trouble("not an environment: no pyvenv.cfg, no conda-meta, no python", file=path, remedy=remedy)


def _refuse_damaged(path: Path, kind: Kind) -> None:
    """`Trouble` for a directory that was an environment and whose interpreter is gone."""
    word = shell.word(str(path))
    remedy = f"Make it anew: mv {word} {shell.word(f'{path}.broken')} && envdoctor fix --env {word}"
    for name in _NAMES:
        python = path / _SCRIPTS / name
        if python.is_symlink() and not python.exists():
            target = os.path.realpath(python)
            problem = f"its interpreter is gone: {_SCRIPTS}/{name} leads to {target}, which does not exist"
            raise Trouble(problem, file=path, remedy=remedy, exit_code=3)
        if python.is_file():
            problem = f"its interpreter {_SCRIPTS}/{name} may not be executed"
            raise Trouble(problem, file=path, remedy=f"chmod +x {python}", exit_code=3)
    if kind != "system":
        what = "virtual" if kind == "venv" else "conda"
        raise Trouble(f"a {what} environment without {_SCRIPTS}/python", file=path, remedy=remedy, exit_code=3)


def _refuse_bereft(path: Path, python: Path) -> None:
    """`Trouble` for a venv that lost its pyvenv.cfg: its Python is another's then, and sees nothing installed in it."""
    root, real = os.path.realpath(path) + os.sep, os.path.realpath(python)
    own = [place for place in path.glob("lib/python3*/site-packages") if os.path.realpath(place).startswith(root)]
    if own and not real.startswith(root):
        word = shell.word(str(path))
        raise Trouble(
            f"no readable pyvenv.cfg: its python is that of {os.path.dirname(os.path.dirname(real))}, which sees "
            "nothing of what is installed in it",
            file=path,
            remedy="Put the file back (home = the folder of that python), or make it anew: "
            f"mv {word} {shell.word(f'{path}.broken')} && envdoctor fix --env {word}",
            exit_code=3,
        )


def _vacant(path: Path, chosen: Chosen) -> Environment:
    return Environment(path=path, python=path / _SCRIPTS / _NAMES[0], exists=False, chosen=chosen)


def _interpreter(prefix: Path) -> Path | None:
    # conda on Windows keeps python.exe in the prefix itself
    folders = (prefix / _SCRIPTS, prefix) if os.name == "nt" else (prefix / _SCRIPTS,)
    for folder in folders:
        for name in _NAMES:
            if _executable(folder / name):
                return folder / name
    return None


def _executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _of_executable(python: Path, chosen: Chosen) -> Environment:
    if not _executable(python):
        raise Trouble("not an executable file", file=python, remedy="Name an environment or a python executable.")
    with python.open("rb") as stream:
        script = stream.read(2) == b"#!"
    prefix = python.parent if os.name == "nt" and python.parent.name != _SCRIPTS else python.parent.parent
    if (prefix / "pyvenv.cfg").is_file() and not script:
        return Environment(path=prefix, python=python, kind="venv", chosen=chosen)
    if (prefix / "conda-meta").is_dir() and not script:
        return Environment(path=prefix, python=python, kind="conda", chosen=chosen)
    return _ask_interpreter(python, chosen)


def _ask_interpreter(python: Path, chosen: Chosen) -> Environment:
    """The interpreter's own answer: a shim (pyenv, asdf) or a system Python cannot be placed by its path alone."""
    program = "import sys; print(sys.executable); print(sys.prefix)"
    outcome = process.run([python, "-I", "-c", program], deadline=20)
    lines = outcome.out.splitlines()
    if not outcome.ok or len(lines) != 2 or not all(os.path.isabs(line) for line in lines):
        told = outcome.err.strip().splitlines() or [outcome.ending]
        said = told[-1 if told[0].startswith("Traceback") else 0][:200]  # a shim explains itself at length
        remedy = "Name an environment or a python executable."
        raise Trouble(f"does not answer like a Python interpreter: {said}", file=python, remedy=remedy, exit_code=3)
    executable, prefix = Path(lines[0]), Path(lines[1])
    kind: Kind = "system"
    if (prefix / "pyvenv.cfg").is_file():
        kind = "venv"
    elif (prefix / "conda-meta").is_dir():
        kind = "conda"
    return Environment(path=prefix, python=executable, kind=kind, chosen=chosen)


def _on_path(path: str) -> Path | None:
    """The first python in an absolute directory of PATH; a relative entry could be anybody's folder."""
    for folder in path.split(os.pathsep):
        if not os.path.isabs(folder):
            continue
        for name in _NAMES:
            if _executable(Path(folder, name)):
                return Path(folder, name)
    return None
