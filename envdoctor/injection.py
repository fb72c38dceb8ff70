"""A target's flags and variables for one command and every Python it starts, without touching the environment.

The startup hook's own files in a folder of their own, put first on PYTHONPATH. Python imports the module that a
warning filter names before it runs anything else, and passes its environment on: so ``python``, ``torchrun``,
``accelerate launch`` and spawned loader workers are reached alike.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from envdoctor.change import hook
from envdoctor.environment import Environment
from envdoctor.errors import Trouble

MODULE = "_envdoctor_run"
FILTER = f"ignore::{MODULE}.Never"


def variables_for(
    environment: Environment, flags: Mapping[str, str], variables: Mapping[str, str], folder: Path
) -> dict[str, str]:
    """The caller's variables, the environment's programs first, the target's flags and variables in force.

    ``folder`` (empty) takes the hook's files and must outlive the command. Raises `Trouble` for an unknown flag and for
    a folder that PYTHONPATH cannot hold.
    """
    present = dict(os.environ)
    scripts = environment.python.parent
    present["PATH"] = os.pathsep.join(filter(None, (str(scripts), present.get("PATH", ""))))
    if environment.kind == "venv":
        present["VIRTUAL_ENV"] = str(environment.path)
    if not flags and not variables:
        return present
    if os.pathsep in str(folder):
        raise Trouble(f"PYTHONPATH cannot hold a folder with {os.pathsep!r} in its name", file=folder)
    for name, text in hook.render(flags, variables).items():
        if name == hook.PTH:
            never = "class Never(Warning):\n    pass\n"
            (folder / f"{MODULE}.py").write_text(f"{text}\n\n{never}", "utf-8")
        else:
            (folder / name).write_text(text, "utf-8")
    return {
        **present,
        **variables,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(folder), present.get("PYTHONPATH", "")))),
        "PYTHONWARNINGS": ",".join(filter(None, (present.get("PYTHONWARNINGS", ""), FILTER))),
    }
