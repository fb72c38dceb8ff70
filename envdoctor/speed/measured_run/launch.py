"""The variables that make a command measure itself, and every Python it starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from envdoctor.errors import Trouble

INJECTED = Path(__file__).parent / "inject"
FOLDER = "ENVDOCTOR_MEASURED_RUN"
FILTER = "ignore::_envdoctor_measured_run.Never"


def variables(folder: Path, present: Mapping[str, str]) -> dict[str, str]:
    """``present`` with what the measuring needs: PYTHONPATH, PYTHONWARNINGS, and the folder the records go to.

    Raises `Trouble` when envdoctor is installed in a folder that PYTHONPATH cannot hold.
    """
    if os.pathsep in str(INJECTED):
        raise Trouble(
            f"PYTHONPATH cannot hold a folder with {os.pathsep!r} in its name",
            file=INJECTED,
            remedy="Install envdoctor into another folder to measure runs.",
        )
    return {
        **present,
        FOLDER: str(folder.absolute()),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(INJECTED), present.get("PYTHONPATH", "")))),
        "PYTHONWARNINGS": ",".join(filter(None, (present.get("PYTHONWARNINGS", ""), FILTER))),
    }
