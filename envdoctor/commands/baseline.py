"""``envdoctor baseline``: record how fast a workload runs here, and show what is recorded."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from pathlib import Path

import click

from envdoctor import bundle, doctor
from envdoctor.commands import _options
from envdoctor.commands._environment import environment_of
from envdoctor.commands._output import paste, print_json, stderr, stdout
from envdoctor.commands._progress import steps
from envdoctor.errors import Trouble
from envdoctor.facts.model import Gpu
from envdoctor.facts.wire import to_json
from envdoctor.knowledge import gpus
from envdoctor.launch.trainer import Measure, new_run_folder
from envdoctor.locks.library import load_targets
from envdoctor.locks.target import Baseline, Target, load
from envdoctor.rules.checkup import CheckOptions
from envdoctor.speed.baselines import recording
from envdoctor.speed.baselines.baseline_text import baseline_lines
from envdoctor.speed.baselines.derive import derive
from envdoctor.speed.cost import Price
from envdoctor.speed.evidence import working_gpu
from envdoctor.speed.evidence.gpu_readings import gpu_readings
from envdoctor.speed.limit import ClaimedSpeed, answer
from envdoctor.speed.report import Report
from envdoctor.speed.timing import ignore_progress, run_once, workload_of
from envdoctor.values import shell


@click.group("baseline")
def command() -> None:
    """Record the speed of a workload on this machine, or show what is recorded.

    \b
    Examples:
      envdoctor baseline record --target cpu --processes 10 --output my-cpu.toml
      envdoctor baseline show --target cpu
      envdoctor baseline limit --gpu H100 --weights 7.5e9 --tokens 8000 --claim 5
    """


@command.command("record")
@_options.environment
@_options.target
@_options.workload
@click.option("--processes", type=click.IntRange(3, 100), default=10, show_default=True, help="Fresh processes.")
@_options.output("toml")
@click.option("--noisy", is_flag=True, help="On a machine that is never quiet: write disturbances down, do not refuse.")
@_options.text_or_json
def record(
    env: Path | None,
    target_name: str,
    stack: str | None,
    workload: str | None,
    processes: int,
    output: Path | None,
    noisy: bool,
    format_: str,
) -> None:
    """Time the workload in fresh processes and write the raw windows into a target file.

    The file is the target's own, or that of --output: made from the target's when it is new, and added to otherwise;
    the rest of it keeps its lines and comments. A run that was disturbed makes no baseline: it is repeated,
    half as often as there are processes.

    \b
    Example:
      envdoctor baseline record --target cpu --env ./env --output mine.toml
    """
    environment = environment_of(env)
    console = stderr()
    reports: list[Report] = []
    readings: list[Gpu] = []
    with steps(console) as progress:
        progress("examining the environment")
        checkup = doctor.examine(environment, CheckOptions(target=target_name, stack=stack))
        target = checkup.target
        if target.choice is None:
            raise Trouble(target.no_choice or "no stack was chosen", where=f"--target {target.name}", exit_code=3)
        chosen = workload_of(target, workload)
        again = processes // 2  # that many disturbed processes are repeated: minutes of work are not lost to one
        while len(reports) < processes:
            progress(f"timing {chosen}, process {len(reports) + 1} of {processes}")
            folder = new_run_folder(f"baseline-{chosen}")
            with gpu_readings(checkup.facts) as during:
                report = run_once(environment, target, chosen, Measure(), folder=folder, on_line=ignore_progress)
            if not noisy and again and (problem := recording.disturbance(report)):
                again -= 1
                progress(f"not counted, and repeated: {problem}")
                continue
            reports.append(report)
            readings += during
    found = recording.record(
        reports,
        target,
        target.choice.stack,
        facts=working_gpu.facts_while_working(checkup.facts, readings, reports[0].device),
        date=time.strftime("%Y-%m-%d"),
        command=f"envdoctor baseline record --target {shell.word(target.name)} --workload {shell.word(chosen)}"
        f" --processes {processes}" + (" --noisy" if noisy else ""),
        noisy=noisy,
    )
    path = _output_file(output, target)
    recording.write(found, path)
    rate = sorted(rate for row in found.windows for rate in row)[len(found.windows[0]) * len(found.windows) // 2]
    if format_ == "json":
        told = {"file": str(path), "workload": chosen, "gpu": found.gpu, "processes": processes}
        print_json({"schema": 1, **told, "steps_per_second": rate})
    console.print(f"✓ {path}: {chosen} on {found.gpu}, {processes} processes, median {rate:.4g} it/s", markup=False)


def _output_file(output: Path | None, target: Target) -> Path:
    """The file to write into: the one asked for (made from the target's own when new), else the target's."""
    if output is not None and target.path is not None and not output.exists():
        shutil.copyfile(target.path, output)
    path = output or target.path
    if path is None:
        raise Trouble("the target has no file", where="--target", remedy="Name one: --output mine.toml")
    return path


@command.command("show")
@_options.target_alone("cpu")
@_options.text_or_json
def show(target_name: str, format_: str) -> None:
    """Show the baselines of a target: who measured them, when, on what, and how far they spread.

    \b
    Example:
      envdoctor baseline show --target cpu
    """
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
        command = f"envdoctor baseline record --target {shell.word(target.name)}"
        paste(console, f"{target.name} has no baseline. Record one: ", command)
    for found in (*target.baselines, *_derived_baselines(target, targets.values())):
        for line in baseline_lines(found):
            console.print(line, markup=False, soft_wrap=True)


def _derived_baselines(target: Target, known: Iterable[Target]) -> list[Baseline]:
    """What would be expected of a GPU without a baseline of its own, from the nearest chip that was measured."""
    chip = gpus.board(target.gpu_names[0]) if target.gpu_names and not target.baselines else None
    if chip is None:
        return []
    measured = [b for other in known for b in other.baselines if b.evidence == "measured"]
    pairs = dict.fromkeys((b.workload, b.stack) for b in measured)
    found = [derive(chip, measured, workload, stack) for workload, stack in pairs]
    return [baseline for baseline in found if baseline is not None]


@command.command("limit")
@click.option("--gpu", required=True, metavar="NAME", help="H100, A100, RTX 4090, ...")
@click.option("--weights", type=click.FloatRange(min=1), required=True, metavar="N", help="Parameters, like 7.5e9.")
@click.option(
    "--tokens",
    type=click.FloatRange(min=1),
    required=True,
    metavar="N",
    help="Of one optimizer step: examples x length x accumulation, of one GPU.",
)
@click.option(
    "--precision",
    type=click.Choice(("bfloat16", "float16", "tf32", "float32")),
    default="bfloat16",
    show_default=True,
    help="Of the matrix products.",
)
@click.option("--lora", is_flag=True, help="The weights are frozen: 4 instead of 6 operations per weight and token.")
@click.option("--claim", type=click.FloatRange(min=0, min_open=True), metavar="X", help="Claimed steps per second.")
@_options.cost
@_options.text_or_json
def limit(
    gpu: str,
    weights: float,
    tokens: float,
    precision: str,
    lora: bool,
    claim: float | None,
    price: Price | None,
    steps_: int | None,
    format_: str,
) -> int:
    """How fast can it be at all? The arithmetic, with a claim held against it.

    \b
    Examples:
      envdoctor baseline limit --gpu H100 --weights 7.5e9 --tokens 8000 --claim 5
      envdoctor baseline limit --gpu A100 --weights 7e9 --tokens 16384 --lora

    Exit codes: 0 possible, 1 the claim is above the chip's peak.
    """
    claimed = ClaimedSpeed(
        weights=weights,
        tokens=tokens,
        gpu=gpu,
        precision=precision,
        frozen=lora,
        claim=claim,
        steps=steps_,
        price=price,
    )
    try:
        found = answer(claimed)
    except ValueError as error:
        raise Trouble(str(error), where="--gpu", remedy="Name one of them, or another --precision.") from error
    if format_ == "json":
        told = {"possible": found.possible, "limit": found.limit, "achievable": found.achievable}
        print_json({"schema": 1, **told, "lines": list(found.lines)})
        return 1 if found.possible is False else 0
    for line in found.lines:
        stdout().print(line, markup=False, soft_wrap=True)
    return 1 if found.possible is False else 0
