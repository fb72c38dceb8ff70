"""``envdoctor baseline``: record how fast a workload runs here, and show what is recorded."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import click

from envdoctor import bundle, doctor
from envdoctor.commands import _options
from envdoctor.commands._output import print_json, stderr, stdout
from envdoctor.commands._progress import steps
from envdoctor.commands.verify import quiet
from envdoctor.environment import locate
from envdoctor.errors import Trouble
from envdoctor.examination import Question
from envdoctor.handoff import Measure, new_run_folder
from envdoctor.library import load_targets
from envdoctor.speed import baseline as baselines
from envdoctor.target import Target, load
from envdoctor.timing import run_once, workload_of
from envdoctor.wire import to_json


@click.group("baseline")
def command() -> None:
    """Record the speed of a workload on this machine, or show what is recorded.

    \b
    Examples:
      envdoctor baseline record --target cpu --processes 10 --output my-cpu.toml
      envdoctor baseline show --target cpu
    """


@command.command("record")
@_options.environment
@_options.target
@click.option("--workload", metavar="NAME", help="Default: the target's own.")
@click.option("--processes", type=click.IntRange(3, 100), default=10, show_default=True, help="Fresh processes.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="Target file to write into; a copy is made when it is new."
)
@click.option("--noisy", is_flag=True, help="On a machine that is never quiet: write disturbances down, do not refuse.")
def record(
    env: Path | None,
    target_name: str,
    stack: str | None,
    workload: str | None,
    processes: int,
    output: Path | None,
    noisy: bool,
) -> None:
    """Time the workload in fresh processes and write the raw windows into a target file.

    The rest of the file keeps its lines and comments. A run that was disturbed makes no baseline.
    """
    environment = locate(env)
    console = stderr()
    reports = []
    with steps(console) as progress:
        progress("examining the environment")
        examination = doctor.examine(environment, Question(target=target_name, stack=stack))
        target = examination.target
        if target.choice is None:
            raise Trouble(target.no_choice or "no stack was chosen", where=f"--target {target.name}", exit_code=3)
        chosen = workload_of(target, workload)
        for number in range(processes):
            progress(f"timing {chosen}, process {number + 1} of {processes}")
            folder = new_run_folder(f"baseline-{chosen}")
            reports.append(run_once(environment, target, chosen, Measure(), folder=folder, on_line=quiet))
    found = baselines.record(
        reports,
        target,
        target.choice.stack,
        facts=examination.facts,
        date=time.strftime("%Y-%m-%d"),
        command=f"envdoctor baseline record --target {target.name} --workload {chosen} --processes {processes}"
        + (" --noisy" if noisy else ""),
        noisy=noisy,
    )
    path = _output(output, target)
    baselines.write(found, path)
    rate = sorted(rate for row in found.windows for rate in row)[len(found.windows[0]) * len(found.windows) // 2]
    console.print(f"✓ {path}: {chosen} on {found.gpu}, {processes} processes, median {rate:.4g} it/s", markup=False)


def _output(output: Path | None, target: Target) -> Path:
    """The file to write into: the one asked for (made from the target's own when new), else the target's."""
    if output is not None and target.path is not None and not output.exists():
        shutil.copyfile(target.path, output)
    path = output or target.path
    if path is None:
        raise Trouble("the target has no file", where="--target", remedy="Name one: --output mine.toml")
    return path


@command.command("show")
@click.option("--target", "-t", "target_name", default="cpu", show_default=True, metavar="NAME")
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text", show_default=True)
def show(target_name: str, format_: str) -> None:
    """Show the baselines of a target: who measured them, when, on what, and how far they spread."""
    path = Path(target_name)
    targets = load_targets()
    if target_name not in targets and not path.is_file():
        remedy = f"Choose one of: {', '.join(targets)}"
        raise Trouble(f"there is no target {target_name!r}", file=bundle.lockfiles(), where="--target", remedy=remedy)
    target = targets[target_name] if target_name in targets else load(path)
    if format_ == "json":
        print_json({"schema": 1, "target": target.name, "baselines": [to_json(b) for b in target.baselines]})
        return
    console = stdout()
    if not target.baselines:
        console.print(f"{target.name} has no baseline. Record one: envdoctor baseline record --target {target.name}")
    for found in target.baselines:
        for line in baselines.shown(found):
            console.print(line, markup=False)
