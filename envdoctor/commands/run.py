"""``envdoctor run -- CMD``: the user's own command, under the target's flags, measured if asked."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import click

from envdoctor import doctor, process
from envdoctor.commands import _options
from envdoctor.commands._output import stderr
from envdoctor.environment import locate
from envdoctor.errors import Trouble
from envdoctor.examination import Question
from envdoctor.injection import variables_for


@click.command("run", context_settings={"ignore_unknown_options": True})
@_options.environment
@_options.target
@click.option("--no-flags", is_flag=True, help="Leave torch's flags and the variables as they are.")
@click.argument("argv", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD...")
def command(env: Path | None, target_name: str, stack: str | None, no_flags: bool, argv: tuple[str, ...]) -> int:
    """Run a command in an environment, with the target's flags in force in every Python that it starts.

    \b
    Examples:
      envdoctor run --env ./env -- python train.py
      envdoctor run --target h100 -- torchrun --nproc-per-node 8 train.py

    Exit codes: those of the command; 128 + n when signal n ended it.
    """
    words = list(argv[1:] if argv[:1] == ("--",) else argv)
    if not words:
        raise Trouble("which command?", remedy="Name it after --: envdoctor run -- python train.py")
    environment = locate(env).require()
    examination = doctor.examine(environment, Question(target=target_name, stack=stack, torch=False, select=("none",)))
    target = examination.target
    flags, variables = ({}, {}) if no_flags else (target.flags, target.variables)
    stderr().print(f"target {target.name}: {examination.target_reason}", style="dim", markup=False)
    with tempfile.TemporaryDirectory(prefix="envdoctor-run-") as folder:
        surroundings = variables_for(environment, flags, variables, Path(folder))
        return process.attached(words, deadline=math.inf, env=surroundings)
