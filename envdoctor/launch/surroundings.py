"""The variables under which something is started: the environment's programs, the target's flags, what is injected.

Nothing in the environment is touched. A module is put into a folder that comes first on PYTHONPATH, and a warning
filter names it: Python imports the module that a filter names before it runs anything else, and passes its variables
on. So ``python``, ``torchrun``, ``accelerate launch`` and spawned loader workers are reached alike.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from envdoctor.errors import Trouble
from envdoctor.facts.environment import Environment
from envdoctor.launch import hook

MODULE = "_envdoctor_run"


def surroundings(
    environment: Environment,
    flags: Mapping[str, str],
    variables: Mapping[str, str],
    folder: Path,
    *,
    without: Sequence[str] = (),
) -> dict[str, str]:
    """The caller's variables, the environment's programs first, the target's flags and variables in force.

    ``folder`` (empty) takes the startup hook's files and must outlive the command; ``without`` names variables of the
    caller that the command must not see. Raises `Trouble` for an unknown flag and for a folder that PYTHONPATH cannot
    hold.
    """
    present = {name: value for name, value in os.environ.items() if name not in without}
    present["PATH"] = os.pathsep.join(filter(None, (str(environment.python.parent), present.get("PATH", ""))))
    if environment.kind == "venv":
        present["VIRTUAL_ENV"] = str(environment.path)
    if not flags and not variables:
        return present
    for name, text in hook.render(flags, variables).items():
        if name == hook.PTH:
            (folder / f"{MODULE}.py").write_text(f"{text}\n\nclass Never(Warning):\n    pass\n", "utf-8")
        else:
            (folder / name).write_text(text, "utf-8")
    return inject_module({**present, **variables}, folder, f"ignore::{MODULE}.Never")


def inject_module(present: Mapping[str, str], folder: Path, warning_filter: str) -> dict[str, str]:
    """``present`` with what makes every Python import a module of ``folder`` at its start.

    ``warning_filter`` names a class of that module, which no program ever warns with. Raises `Trouble` for a folder
    that PYTHONPATH cannot hold.
    """
    if os.pathsep in str(folder):
        raise Trouble(
            f"PYTHONPATH cannot hold a folder with {os.pathsep!r} in its name",
            file=folder,
            remedy="Set TMPDIR to another folder, or install envdoctor into one.",
        )
    return {
        **present,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(folder), present.get("PYTHONPATH", "")))),
        "PYTHONWARNINGS": ",".join(filter(None, (present.get("PYTHONWARNINGS", ""), warning_filter))),
    }
