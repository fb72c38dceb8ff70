"""``envdoctor train``: hand off to the bundled trainer, in the environment and under the target's flags."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from pathlib import Path

import click

from envdoctor import bundle, doctor, process
from envdoctor.commands import _options
from envdoctor.commands._output import stderr
from envdoctor.environment import locate
from envdoctor.examination import Question
from envdoctor.injection import variables_for


@click.command("train", context_settings={"ignore_unknown_options": True, "help_option_names": ["-h", "--help"]})
@_options.environment
@_options.target
@click.argument("task")
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def command(env: Path | None, target_name: str, stack: str | None, task: str, options: tuple[str, ...]) -> int:
    """Train with the bundled trainer; OPTIONS are its own (`envdoctor train sft -- --help` lists them).

    \b
    Examples:
      envdoctor train sft --workload chat-5m --max_steps 50
      envdoctor train --env ./env sft --model ./model --data chat.jsonl --output runs/chat

    Exit codes: those of the trainer: 0 finished, 1 failed, 130 interrupted (and saved).
    """
    environment = locate(env).require()
    examination = doctor.examine(environment, Question(target=target_name, stack=stack, torch=False, select=("none",)))
    target = examination.target
    stderr().print(f"target {target.name}: {examination.target_reason}", style="dim", markup=False)
    with tempfile.TemporaryDirectory(prefix="envdoctor-train-") as folder:
        hook, stage = Path(folder) / "hook", Path(folder) / "stage"
        hook.mkdir()
        shutil.copytree(bundle.trainer(), stage / "trainer", ignore=shutil.ignore_patterns("__pycache__"))
        variables = variables_for(environment, target.flags, target.variables, hook)
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, (str(stage), variables.get("PYTHONPATH", ""))))
        variables.pop("PYTHONDONTWRITEBYTECODE", None)
        words = [word for word in options if word != "--"]
        argv = [str(environment.python), "-m", "trainer", task, *words]
        return process.attached(argv, deadline=math.inf, env=variables)
