"""``envdoctor verify``: is this environment as fast as its target says it should be?"""

from __future__ import annotations

from pathlib import Path

import click

from envdoctor import doctor
from envdoctor.commands import _options
from envdoctor.commands._dialogue import TerminalDialogue
from envdoctor.commands._environment import environment_of
from envdoctor.commands._output import print_json, stdout
from envdoctor.errors import Trouble
from envdoctor.facts.environment import Environment, locate
from envdoctor.render.speed import document, render
from envdoctor.rules.checkup import CheckOptions
from envdoctor.speed.ablation import side_by_side
from envdoctor.speed.ablation.against import BEFORE, LOCKED, Other, Pairs
from envdoctor.speed.ablation.pairs import LOOKS
from envdoctor.speed.ablation.suspect_ablation import ROUNDS, Suspects
from envdoctor.speed.cost import Price
from envdoctor.speed.outcome import Verdict
from envdoctor.speed.timing import MOST_PROCESSES, TimingOptions

EXIT = {"as-expected": 0, "faster": 0, "slower": 1, "unstable": 3, "not-comparable": 3}


@click.command("verify")
@_options.environment
@_options.target
@_options.workload
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
@click.option(
    "--against", metavar="locked|before|PATH", help="Another environment instead of a baseline, in turns until decided."
)
@click.option(
    "--pairs",
    type=click.IntRange(LOOKS[0], LOOKS[-1]),
    help=f"Of --against, at most. Default: {side_by_side.LOOKS[-1]} on a CPU, {LOOKS[-1]} on a GPU.",
)
@_options.yes
@_options.cost
@_options.verbose
@_options.text_or_json
def command(
    env: Path | None,
    target_name: str,
    stack: str | None,
    workload: str | None,
    processes: int,
    why_: bool,
    rounds: int,
    clean: Path | None,
    against: str | None,
    pairs: int | None,
    yes: bool,
    price: Price | None,
    steps_: int | None,
    verbose: bool,
    format_: str,
) -> int:
    """Train a short workload, and judge its speed against the target's baseline.

    The verdict is as-expected, faster, slower, unstable or not-comparable, with an interval at a stated error rate;
    if it is not as expected, the cause: machine, contention, stack, settings or data. --against times another
    environment in turns with this one instead, which needs no baseline. --why tries the suspects: each
    run is repeated with one of them taken away, interleaved with runs as they are.

    \b
    Examples:
      envdoctor verify --target cpu --env ./env
      envdoctor verify --why
      envdoctor verify --why --clean ./fresh   # the versions too
      envdoctor verify --against ./clean       # how fast beside that one?
      envdoctor verify --against locked --yes  # beside the lock
      envdoctor verify --against before        # what has the last fix made of it?
      envdoctor verify --price 2.49/h --steps 3558

    Exit codes: 0 as expected or faster, 1 slower, 3 unstable or not comparable.
    """
    timing = TimingOptions(workload=workload, processes=processes, steps=steps_, price=price)
    options = CheckOptions(target=target_name, stack=stack)
    if against is not None:
        if why_ or clean is not None:
            raise Trouble("--against and --why answer different questions", remedy="Ask one at a time.")
        verdict = _against(environment_of(env), against, options, timing, Pairs(most=pairs), yes)
        print_json(document(verdict)) if format_ == "json" else render(verdict, stdout(), verbose=verbose)
        return exit_code(verdict)
    suspects = Suspects(rounds=rounds, clean=locate(clean).require().path if clean else None) if why_ else None
    with TerminalDialogue().shown() as dialogue:
        told = doctor.verify(environment_of(env), options, timing, dialogue, suspects=suspects)
    verdict, ablation = told.verdict, told.ablation
    if format_ == "json":
        print_json(document(verdict, ablation))
    else:
        render(verdict, stdout(), ablation, verbose=verbose)
        if why_ and ablation is None:
            stdout().print("    why? There is nothing to explain.", markup=False)
    return exit_code(verdict)


def _against(
    environment: Environment, against: str, options: CheckOptions, timing: TimingOptions, pairs: Pairs, yes: bool
) -> Verdict:
    other = None
    if against == BEFORE:
        other = _earlier_arm(environment)
    elif against != LOCKED:
        other = Other(name=against, environment=locate(Path(against)).require())
    with TerminalDialogue(yes=yes).shown() as dialogue:
        return doctor.verify_against(environment, other, options, timing, pairs, dialogue)


def _earlier_arm(environment: Environment) -> Other:
    """The state that the last fix replaced and that undo would bring back, as an arm of its own.

    Raises `Trouble` (exit code 3) where there is none, or none with a folder of its own.
    """
    other = doctor.earlier_arm(environment)
    if other is None:
        raise Trouble(
            "nothing is kept of what this environment was before, or it was changed file by file",
            file=environment.path,
            where="--against before",
            remedy="Hold it against its lock: envdoctor verify --against locked",
            exit_code=3,
        )
    return other


def exit_code(verdict: Verdict) -> int:
    return EXIT[verdict.word]
