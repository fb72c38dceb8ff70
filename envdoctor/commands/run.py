"""``envdoctor run -- CMD``: the user's own command, under the target's flags, measured if asked."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import click

from envdoctor import doctor
from envdoctor.commands import _options
from envdoctor.commands._environment import environment_of
from envdoctor.commands._output import stderr, write
from envdoctor.errors import Trouble
from envdoctor.launch.surroundings import surroundings
from envdoctor.rules.checkup import Case, CheckOptions
from envdoctor.speed.cost import Price
from envdoctor.speed.measured_run.advice import MeasuredRun
from envdoctor.system import process, temporary


@click.command("run", context_settings={"ignore_unknown_options": True})
@_options.environment
@_options.target
@click.option("--no-flags", is_flag=True, help="Leave torch's flags and the variables as they are.")
@click.option("--measure", is_flag=True, help="Time the training steps, and say what holds them back.")
@click.option(
    "--stop-after", type=click.IntRange(2), metavar="N", help="With --measure: end the training after N steps."
)
@_options.cost
@_options.output("json")
@click.option("--repeat-baseline", "own", metavar="NAME", help="Judge it by your earlier runs of this name.")
@click.argument("argv", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD...")
def command(
    env: Path | None,
    target_name: str,
    stack: str | None,
    no_flags: bool,
    measure: bool,
    stop_after: int | None,
    price: Price | None,
    steps_: int | None,
    output: Path | None,
    own: str | None,
    argv: tuple[str, ...],
) -> int:
    """Run a command in an environment, with the target's flags in force in every Python that it starts.

    With --measure nothing in the script changes: waits for the DataLoader and optimizer steps are timed from inside,
    in every training process, and at the end stands what holds the training back and the line to write.

    --stop-after ends every training process after that many optimizer steps, as sys.exit() would: what the script does
    after its loop (evaluating, saving) does not happen. --steps ends nothing; it says how long a whole run will take.

    \b
    Examples:
      envdoctor run --env ./env -- python train.py
      envdoctor run --measure -- torchrun --nproc-per-node 8 train.py
      envdoctor run --measure --stop-after 200 --price 2.49/h -- python train.py

    Exit codes: those of the command; 128 + n when signal n ended it; 1 when it is slower than its own baseline.
    """
    words = list(argv[1:] if argv[:1] == ("--",) else argv)
    if not words:
        raise Trouble("which command?", remedy="Name it after --: envdoctor run -- python train.py")
    measure = measure or own is not None
    if stop_after is not None and not measure:
        raise Trouble(
            "it needs --measure", where="--stop-after", remedy="envdoctor run --measure --stop-after N -- ..."
        )
    if own is not None:  # before hours of training, not after them
        from envdoctor.speed.baselines import own_baseline

        own_baseline.read(own_baseline.path_of(own))
    environment = environment_of(env).require()
    case = doctor.target_for(environment, CheckOptions(target=target_name, stack=stack))
    target = case.target
    flags, variables = ({}, {}) if no_flags else (target.flags, target.variables)
    stderr().print(f"target {target.name}: {case.target_reason}", style="dim", markup=False)
    with temporary.folder() as folder:
        hook, records = folder / "hook", folder / "records"
        hook.mkdir()
        records.mkdir()
        present = surroundings(environment, flags, variables, hook)
        if measure:
            from envdoctor.speed.measured_run import launch

            present = launch.variables(records, present, stop_after=stop_after)
        code = process.run_attached(words, deadline=math.inf, env=present)
        if measure:
            slower = _tell(records, case, output, steps_, price, own)
            return code or int(slower)
    return code


def _tell(
    records: Path, case: Case, path: Path | None, steps: int | None, price: Price | None, own: str | None
) -> bool:
    """What the run's own records say, on stderr (stdout is the command's) and into the file asked for.

    Answers whether the run is slower than the baseline of the name ``own``.
    """
    from dataclasses import replace

    from envdoctor.render.speed import render_measured
    from envdoctor.speed.cost import cost
    from envdoctor.speed.measured_run import advice, agreement, record

    console = stderr()
    found = record.read(records)
    if not found:
        console.print("nothing was measured: no optimizer of torch took a step in any process of this command")
        return False
    agreed = agreement.agreement(found, case.target)
    run = advice.diagnose_run(found, case.facts, agreed)
    if own is not None:
        run = _by_own_baseline(run, own)
    rate = run.verdict.steps_per_second
    if steps is not None and rate:
        run = replace(run, verdict=replace(run.verdict, cost=cost(steps, rate, price)))
    render_measured(run, console, remarks=(*advice.processes(run), *agreement.sentences(agreed)))
    if path is not None:
        data: dict[str, Any] = advice.run_json(run)
        write(path, json.dumps(data, indent=1) + "\n")
    return run.verdict.word == "slower"


def _by_own_baseline(found: MeasuredRun, name: str) -> MeasuredRun:
    """The run judged by the earlier ones of that name, and kept beside them if it finished."""
    from dataclasses import replace

    from envdoctor.speed.baselines import own_baseline

    file = own_baseline.path_of(name)
    kept = own_baseline.read(file)
    verdict = found.verdict
    run = verdict.reports[0]
    judged = own_baseline.judge_by_own_runs(run, kept, name)
    if own_baseline.why_not_kept(run) is None:
        own_baseline.append(file, kept, run)
    reasons = (*judged.reasons, *verdict.reasons[1:])
    if judged.comparison is None:  # the cure stays the headline
        verdict = replace(verdict, workload=name, reasons=reasons)
        return replace(found, verdict=verdict, remarks=(*judged.reasons[:1], *found.remarks))
    return replace(found, verdict=replace(judged, reasons=reasons))
