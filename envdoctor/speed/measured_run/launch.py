"""The variables that make a command measure itself, and every Python it starts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from envdoctor import bundle
from envdoctor.launch.surroundings import inject_module

INJECTED = Path(__file__).parent / "inject"
FOLDER = "ENVDOCTOR_MEASURED_RUN"
FLAGS = "ENVDOCTOR_MEASURED_RUN_FLAGS"
STOP = "ENVDOCTOR_MEASURED_RUN_STOP"
FILTER = "ignore::_envdoctor_measured_run.Never"


def variables(folder: Path, present: Mapping[str, str], *, stop_after: int | None = None) -> dict[str, str]:
    """``present`` with what the measuring needs: PYTHONPATH, PYTHONWARNINGS, and the folder the records go to.

    ``stop_after``: the optimizer step after which every training process ends, with exit code 0.
    Raises `Trouble` when envdoctor is installed in a folder that PYTHONPATH cannot hold.
    """
    measured = {
        **present,
        FOLDER: str(folder.absolute()),
        FLAGS: str(bundle.flags_table()),
        **({STOP: str(stop_after)} if stop_after else {}),
    }
    return inject_module(measured, INJECTED, FILTER)
