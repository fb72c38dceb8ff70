"""Which Pythons a new environment could be made from."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

NEWEST_FIRST = ("3.14", "3.13", "3.12", "3.11", "3.10")


def candidates(python: str | None) -> Iterator[Path]:
    """The interpreter ``python`` (a version, a name on PATH or a path; none where there is no such), or else our own
    and the newest ones on PATH."""
    if python is not None:
        version = f"python{python}" if re.fullmatch(r"3\.\d+", python) else python
        found = shutil.which(version) or (python if Path(python).is_file() else None)
        if found is not None:
            yield Path(found)
        return
    yield Path(getattr(sys, "_base_executable", sys.executable))
    for version in NEWEST_FIRST:
        found = shutil.which(f"python{version}")
        if found is not None:
            yield Path(found)
