"""``envdoctor verify``: is this environment as fast as its target says it should be?"""

from __future__ import annotations

from pathlib import Path

import click

from envdoctor import doctor
from envdoctor.commands import _options
from envdoctor.commands._output import print_json, stderr, stdout
from envdoctor.commands._progress import steps
from envdoctor.environment import locate
from envdoctor.examination import Question
from envdoctor.inquiry import ROUNDS, inquire
from envdoctor.render.speed import document, render
from envdoctor.speed.outcome import Verdict
from envdoctor.speed.why import Inquiry
from envdoctor.timing import MOST_PROCESSES, Timing, time_and_judge

EXIT = {"as-expected": 0, "faster": 0, "slower": 1, "unstable": 3, "not-comparable": 3}


@click.command("verify")
@_options.environment
@_options.target
@click.option("--workload", metavar="NAME", help="chat-5m, chat-30m, chat-135m. Default: the target's own.")
@click.option(
    "--processes",
    type=click.IntRange(1, MOST_PROCESSES),
    default=MOST_PROCESSES,
    show_default=True,
    help="Fresh processes at most; a clear case ends after the first.",
)
@click.option("--why", "why_", is_flag=True, help="Not as expected? Time the suspects one at a time.")
@click.option("--rounds", type=click.IntRange(2, 20), default=ROUNDS, show_default=True, help="Of --why.")
@click.option("--clean", type=click.Path(path_type=Path), help="With --why: an environment with the locked versions.")
@_options.cost
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text", show_default=True)
def command(
    env: Path | None,
    target_name: str,
    stack: str | None,
    workload: str | None,
    processes: int,
    why_: bool,
    rounds: int,
    clean: Path | None,
    price: float | None,
    steps_: int | None,
    format_: str,
) -> int:
    """Train a short workload, and judge its speed against the target's baseline.

    The verdict is as-expected, faster, slower, unstable or not-comparable, with an interval at a stated error rate;
    if it is not as expected, the cause: machine, contention, stack, settings or data. --why tries the suspects: each
    run is repeated with one of them taken away, interleaved with runs as they are.

    \b
    Examples:
      envdoctor verify --target cpu --env ./env
      envdoctor verify --why
      envdoctor verify --why --clean ./fresh      # versions too: against an environment made by fix
      envdoctor verify --price 2.49/h --steps 3558

    Exit codes: 0 as expected or faster, 1 slower, 3 unstable or not comparable.
    """
    environment = locate(env)
    console = stderr()
    with steps(console) as progress:
        progress("examining the environment")
        examination = doctor.examine(environment, Question(target=target_name, stack=stack))
        timing = Timing(workload=workload, processes=processes, steps=steps_, price=price)
        verdict = time_and_judge(
            environment, examination.target, timing, facts=examination.facts, progress=progress, on_line=quiet
        )
        inquiry: Inquiry | None = None
        if why_ and verdict.word not in ("as-expected", "faster"):
            verdict, inquiry = inquire(
                environment,
                examination.target,
                timing,
                verdict,
                facts=examination.facts,
                clean=locate(clean).require().path if clean is not None else None,
                rounds=rounds,
                progress=progress,
                on_line=quiet,
            )
    if format_ == "json":
        print_json(document(verdict, inquiry))
    else:
        render(verdict, stdout(), inquiry)
        if why_ and inquiry is None:
            stdout().print("    why? There is nothing to explain.", markup=False)
    return exit_code(verdict)


def exit_code(verdict: Verdict) -> int:
    return EXIT[verdict.word]


def quiet(_: str) -> None:
    """The workload's own progress lines are not shown: its steps are too short to watch."""
