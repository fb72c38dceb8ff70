"""Where an environment's interpreter keeps things, as it says itself."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from envdoctor.errors import Trouble
from envdoctor.system.process import Child
from envdoctor.values import shell

# The interpreter is started for this in a clone as well, so that a clone whose Python does not run is noticed at once.
# The answer goes last and is marked: start-up files of a sick environment may print.
_QUESTION = (
    "import json, sys, sysconfig; p = sysconfig.get_paths(); print('\\n\\x1elayout' + json.dumps("
    "{'purelib': p['purelib'], 'platlib': p['platlib'], 'scripts': p['scripts'], 'prefix': sys.prefix,"
    " 'base_prefix': sys.base_prefix, 'version': sys.version.split()[0], 'tag': sys.implementation.cache_tag,"
    " 'stdlib': p['stdlib']}))"
)
START_SECONDS = 30.0  # a Python on a cold network disk; a warm one takes 0.02 s


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The interpreter's folders; all absolute."""

    python: Path
    prefix: Path
    base_prefix: Path
    purelib: Path
    platlib: Path
    scripts: Path
    stdlib: Path
    version: str

    @property
    def libraries(self) -> tuple[Path, ...]:
        """The folders that hold packages, each once."""
        different = [self.purelib]
        if os.path.realpath(self.platlib) != os.path.realpath(self.purelib):
            different.append(self.platlib)
        return tuple(path for path in different if path.is_dir())

    @property
    def kind(self) -> str:
        """``venv``, ``conda`` or ``base``: a Python of its own, which other environments may be built on."""
        if (self.prefix / "conda-meta").is_dir():
            return "conda"
        return "base" if self.prefix == self.base_prefix else "venv"

    @property
    def externally_managed(self) -> bool:
        """Whether its distributor asks installers to keep off (PEP 668)."""
        return self.kind != "venv" and (self.stdlib / "EXTERNALLY-MANAGED").is_file()

    @property
    def untouchable(self) -> bool:
        """Whether it is nobody's single environment: a Python that others are built on, or that is managed."""
        return self.kind == "base" or self.externally_managed


def asks(words: Sequence[str]) -> bool:
    """Whether these words start a Python to be asked by `ask`."""
    return _QUESTION in words


def python_of(environment: Path) -> Path:
    """The interpreter's path inside an environment."""
    return environment / "bin" / "python"


def ask(
    environment: Path, *, variables: Mapping[str, str] | None = None, meanwhile: Callable[[], object] = lambda: None
) -> Layout:
    """Start the environment's Python and ask; ``meanwhile`` is done until it answers.

    Raises `Trouble` when it does not start.
    """
    python = python_of(environment)
    if not os.path.lexists(python) and os.path.lexists(environment / "bin" / "python3"):
        python = environment / "bin" / "python3"
    child = Child([python, "-I", "-c", _QUESTION], deadline=START_SECONDS, env=variables)
    try:
        meanwhile()
        outcome = child.wait()
    except BaseException:
        child.kill()
        raise
    _, mark, answer = outcome.out.rpartition("\x1elayout")
    if not mark:
        detail = outcome.err.strip().splitlines()[-1:] or [""]
        raise Trouble(
            f"does not start ({outcome.ending}) {detail[0]}".rstrip(),
            file=python,
            remedy=f"Make the environment anew: move it away, then envdoctor fix --env {shell.word(str(environment))}",
            exit_code=3,
        )
    said = json.loads(answer.splitlines()[0])
    return Layout(
        python=python,
        prefix=Path(said["prefix"]),
        base_prefix=Path(said["base_prefix"]),
        purelib=Path(said["purelib"]),
        platlib=Path(said["platlib"]),
        scripts=Path(said["scripts"]),
        stdlib=Path(said["stdlib"]),
        version=said["version"],
    )
