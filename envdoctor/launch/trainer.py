"""Handing off to the bundled trainer: an order in JSON, a process of the environment's own Python, a report in JSON."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from envdoctor import bundle
from envdoctor.errors import Trouble
from envdoctor.facts.environment import Environment
from envdoctor.launch.surroundings import surroundings
from envdoctor.system import process, temporary
from envdoctor.values.document import read_json
from envdoctor.values.frozen import frozen

SCHEMA = 1
PROGRAM = "envdoctor train"  # as the trainer's help is to name it
PEAK = "ENVDOCTOR_PEAK_TFLOPS"  # read by `trainer.terminal.command_line`: a setting of the same name outranks it
KEPT_RUNS = 20  # older run folders of measured workloads are removed; the user's own trainings never are


@frozen
class Measure:
    """How a workload is timed; see the trainer's `measure` module for the meaning of each."""

    windows: int = 20
    window_seconds: float = 0.5
    warmup_tolerance: float = 0.03
    max_warmup_seconds: float = 20.0
    max_seconds: float = 60.0
    least_seconds: float = 0.0
    probes: bool = True


@frozen
class Order:
    """What the trainer is asked to do. ``workload`` names a fixed one; otherwise ``settings`` say everything."""

    task: str = "sft"
    workload: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()  # variables of the caller that the training must not see
    measure: Measure | None = None


def runs_folder() -> Path:
    """Where measured runs leave their reports: the user's state folder."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(state) / "envdoctor" / "runs"


def new_run_folder(label: str) -> Path:
    """A fresh folder for one run; the oldest ones are removed. Raises `Trouble` where none can be made."""
    runs = runs_folder()
    stamp = time.strftime("%Y%m%d-%H%M%S")
    try:
        runs.mkdir(parents=True, exist_ok=True, mode=0o700)
        for old in sorted(path for path in runs.iterdir() if path.is_dir())[:-KEPT_RUNS]:
            shutil.rmtree(old, ignore_errors=True)
        for number in range(1000):
            folder = runs / f"{stamp}-{number:03d}-{label}"
            if not folder.exists():
                folder.mkdir(mode=0o700)
                return folder
    except OSError as error:
        remedy = "Set XDG_STATE_HOME to a folder that can be written."
        raise Trouble(error.strerror or str(error), file=runs, remedy=remedy, exit_code=3) from error
    raise Trouble("no free run folder", file=runs, exit_code=3)


def train(
    environment: Environment,
    order: Order,
    folder: Path,
    *,
    deadline: float,
    on_line: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Run the trainer in ``folder`` and return its report.

    With ``on_line`` the trainer's lines are handed over; without, it has the terminal to itself. Raises `Trouble`
    when it ends without a report; a report whose outcome is not "finished" is returned as it is.
    """
    stage = stage_copy(folder)
    report = folder / "report.json"
    data = {
        "schema": SCHEMA,
        "task": order.task,
        "workload": order.workload,
        "settings": dict(order.settings),
        "run_folder": str(folder),
        "report": str(report),
        "measure": None if order.measure is None else _as_dict(order.measure),
    }
    (folder / "order.json").write_text(json.dumps(data, indent=1) + "\n", "utf-8")
    argv = [str(environment.python), "-m", "trainer", "--order", str(folder / "order.json")]
    env = variables_for(environment, order.flags, order.variables, folder, without=order.without)
    code: int | None
    if on_line is None:
        code = process.run_attached(argv, deadline=deadline, env=env, cwd=stage, stdout_to_stderr=True)
        ending, tail = f"exit code {code}", ""
    else:
        outcome = process.run(argv, deadline=deadline, env=env, cwd=stage, on_line=on_line, leash=True)
        code, ending = outcome.code, outcome.ending
        tail = "\n".join((outcome.err or outcome.out).strip().splitlines()[-5:])
    shutil.rmtree(stage, ignore_errors=True)
    if code == 130:
        raise KeyboardInterrupt
    if not report.is_file():
        raise Trouble(
            f"the trainer ended without a report ({ending})" + (f":\n{tail}" if tail else ""),
            file=folder,
            remedy="Check the environment first: envdoctor check",
            exit_code=3,
        )
    result = read_json(report)
    if not isinstance(result, dict) or result.get("schema") != SCHEMA:
        raise Trouble("not a report of this trainer", file=report, where="schema", exit_code=3)
    return result


def run_trainer(
    environment: Environment,
    words: Sequence[str],
    *,
    flags: Mapping[str, str],
    variables: Mapping[str, str],
    peak_tflops: float | None = None,
) -> int:
    """``python -m trainer WORDS`` in the environment, with the terminal to itself and no time limit. Its exit code.

    ``peak_tflops``: of one of the GPUs found, for the trainer, which has no table of them; the caller's own word wins.
    """
    with temporary.folder() as folder:
        env = variables_for(environment, flags, variables, folder)
        if peak_tflops:
            env = {PEAK: f"{peak_tflops:g}", **env}
        # The caller's own folder stays the working one: the paths among the words are relative to it.
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(stage_copy(folder)), env.get("PYTHONPATH", ""))))
        env["TRAINER_PROGRAM"] = PROGRAM
        return process.run_attached([str(environment.python), "-m", "trainer", *words], deadline=math.inf, env=env)


def show_help(words: Sequence[str]) -> int:
    """The trainer's own help for ``words``, by this Python: it needs neither torch nor another one. Its exit code."""
    with temporary.folder() as folder:
        env = {**os.environ, "PYTHONPATH": str(stage_copy(folder)), "TRAINER_PROGRAM": PROGRAM}
        return process.run_attached([sys.executable, "-m", "trainer", *words], deadline=60, env=env)


def stage_copy(folder: Path) -> Path:
    """A copy of the trainer below ``folder``, in a place of its own: what is imported cannot change under a run."""
    stage = folder / "stage"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(bundle.trainer(), stage / "trainer", ignore=ignored, dirs_exist_ok=True)
    return stage


def variables_for(
    environment: Environment,
    flags: Mapping[str, str],
    variables: Mapping[str, str],
    folder: Path,
    *,
    without: Sequence[str] = (),
) -> dict[str, str]:
    """What a run will really have: the flags through the startup hook, as any other command gets them.

    Bytecode may be written: compiling transformers at every start takes longer than a workload.
    """
    hooks = folder / "hook"
    hooks.mkdir(exist_ok=True)
    gone = ("PYTHONDONTWRITEBYTECODE", *without)
    return {**surroundings(environment, flags, variables, hooks, without=gone), "PYTHONUNBUFFERED": "1"}


def _as_dict(measure: Measure) -> dict[str, Any]:
    return {name: getattr(measure, name) for name in Measure.__dataclass_fields__}
