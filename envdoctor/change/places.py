"""Where things lie: the environment, its siblings that hold other states, and the folder of its journal.

A clone lies in the same directory as the environment, so that relative links and relative ``.pth`` lines that lead out
of the environment mean the same in both, and so that the two can be exchanged by one rename. The names are made of the
environment's literal name, hence ``venv`` and ``.venv`` in one directory never meet.
"""

from __future__ import annotations

import os
from pathlib import Path

from envdoctor.errors import Trouble
from envdoctor.values.frozen import frozen

KEPT_PREFIX = ".envdoctor-kept-"  # folders inside an environment that is changed file by file
_LONGEST_NAME = 255  # NAME_MAX of every Linux file system in use, bytes


@frozen
class Places:
    """``environment`` is the path its scripts name; ``real`` the directory behind it, with every link resolved."""

    environment: Path
    real: Path

    @property
    def parent(self) -> Path:
        return self.real.parent

    @property
    def control(self) -> Path:
        """The folder of lock, journal and logs."""
        return self.parent / f".envdoctor-{self.real.name}.journal"

    def slot(self, number: int) -> Path:
        """The sibling directory that a clone is built in, and that holds the previous state afterwards."""
        return self.parent / f".envdoctor-{self.real.name}-{number}"

    @property
    def aside(self) -> Path:
        """Where the environment is for an instant while it is swapped by renames."""
        return self.parent / f".envdoctor-{self.real.name}.aside"

    @property
    def probe_prefix(self) -> str:
        """Temporary directories in which the file system is tried out begin with this."""
        return f".envdoctor-{self.real.name}.probe-"

    def kept(self, number: int) -> Path:
        """Where a change file by file keeps both versions of what it changed (see `overwrite`)."""
        return self.real / f"{KEPT_PREFIX}{number}"

    def free_slot(self, taken: set[int]) -> int:
        number = 1
        while number in taken or os.path.lexists(self.slot(number)) or os.path.lexists(self.kept(number)):
            number += 1
        return number


def places(environment: Path) -> Places:
    """Find the real directory of an environment. Raises `Trouble` when it is no place for one."""
    named = Path(os.path.abspath(environment))
    try:
        real = Path(os.path.realpath(named, strict=False))
    except OSError as error:
        raise Trouble(f"cannot be resolved: {error.strerror}", file=named, remedy="Give the path itself.") from error
    if real.name == "" or real.parent == real:
        raise Trouble("is not an environment", file=named, remedy="Name a virtual environment: --env PATH")
    if len(os.fsencode(real.name)) > _LONGEST_NAME - len(".envdoctor-.probe-12345678"):
        raise Trouble("its name is too long for a sibling", file=named, remedy="Give the environment a shorter name.")
    return Places(environment=named, real=real)
