"""``envdoctor ablate``: what each setting, or each of two environments, is worth on this machine."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from envdoctor import bundle, doctor
from envdoctor.commands import _options
from envdoctor.commands._output import print_json, stderr, stdout
from envdoctor.commands._progress import steps
from envdoctor.errors import Trouble
from envdoctor.facts.environment import Environment, locate
from envdoctor.launch.trainer import Measure
from envdoctor.locks.target import Target
from envdoctor.render.ablation import document, render
from envdoctor.render.claims import render as render_claims
from envdoctor.rules.checkup import CheckOptions
from envdoctor.speed.ablation import variants
from envdoctor.speed.ablation.ablation import evaluate
from envdoctor.speed.ablation.interleaving import Variant, interleaved_reports, ladder
from envdoctor.speed.report import Report
from envdoctor.speed.timing import ignore_progress, run_variant, workload_of
from envdoctor.values.document import read_json, write_whole

KEPT = Path("claims", "cpu.json")  # below the lockfiles; written by `python -m tests.benchmarks.claims`


@click.command("ablate")
@click.argument("names", nargs=-1, metavar="[VARIANT]...")
@_options.environment
@_options.target
@click.option("--envs", nargs=2, type=click.Path(path_type=Path), metavar="A B", help="Compare environments instead.")
@click.option("--ladder", "ladder_", is_flag=True, help="Add the variants one after the other.")
@click.option("--claims", is_flag=True, help="Print what write-ups claim beside what it came to where it was measured.")
@click.option("--list", "list_", is_flag=True, help="List the variants.")
@click.option("--rounds", type=click.IntRange(2, 50), default=3, show_default=True, help="Runs of each variant.")
@click.option("--windows", type=click.IntRange(4, 200), default=10, show_default=True, help="Windows of each run.")
@_options.workload
@_options.output("json")
@_options.text_or_json
def command(
    names: tuple[str, ...],
    env: Path | None,
    target_name: str,
    stack: str | None,
    envs: tuple[Path, Path] | None,
    ladder_: bool,
    claims: bool,
    list_: bool,
    rounds: int,
    windows: int,
    workload: str | None,
    output: Path | None,
    format_: str,
) -> None:
    """Time variants of the workload in interleaved fresh processes: A B, B A, ...

    Each ratio comes with an interval, a check that the losses are equal, and the memory beside it.

    --claims prints what write-ups claim of each setting beside what was measured with it: the table that is kept with
    the lockfiles, and where it was measured.

    \b
    Examples:
      envdoctor ablate --list
      envdoctor ablate no-packing all-logits --target cpu --env ./env
      envdoctor ablate --envs ./old ./new
      envdoctor ablate --claims
    """
    if list_:
        for variant in variants.VARIANTS:
            stdout().print(f"{variant.name:<20} {variant.why}", markup=False)
        return
    if claims:
        kept = read_json(bundle.lockfiles() / KEPT)
        print_json(kept) if format_ == "json" else render_claims(kept, stdout())
        return
    chosen = _variants(names, envs, ladder_)
    with steps(stderr()) as progress:
        progress("examining the environment")
        environment = locate(envs[0] if envs else env).require()
        target = doctor.examine(environment, CheckOptions(target=target_name, stack=stack)).target
        reports = _reports(chosen, environment, target, workload_of(target, workload), rounds, windows, progress)
    against: Any = "previous" if ladder_ else "first"
    ablation = evaluate(chosen, reports, against=against)
    data = document(ablation, reports, command=_command_line())
    if output is not None:
        write_whole(output, json.dumps(data, separators=(",", ":")) + "\n")
    if format_ == "json":
        print_json(data)
    else:
        render(ablation, stdout())


def _variants(names: Sequence[str], envs: tuple[Path, Path] | None, ladder_: bool) -> tuple[Variant, ...]:
    if envs:
        first, second = (locate(path).require() for path in envs)
        return (
            Variant(name=str(envs[0]), environment=first.path, why="the first environment"),
            Variant(name=str(envs[1]), environment=second.path, why="the second environment"),
        )
    try:
        found = variants.find(tuple(names))
    except KeyError as error:
        known = ", ".join(variant.name for variant in variants.VARIANTS)
        raise Trouble(f"there is no variant {error.args[0]!r}", remedy=f"Choose from: {known}") from error
    if not found:
        raise Trouble("which variants?", remedy="See: envdoctor ablate --list")
    return ladder(variants.DEFAULT, found) if ladder_ else (variants.DEFAULT, *found)


def _reports(
    chosen: Sequence[Variant],
    environment: Environment,
    target: Target,
    workload: str,
    rounds: int,
    windows: int,
    progress: Callable[[str], None],
) -> dict[str, list[Report]]:
    measure = Measure(windows=windows)

    def run(variant: Variant) -> Report:
        where = environment if variant.environment is None else locate(variant.environment)
        return run_variant(where, target, workload, measure, variant, on_line=ignore_progress)

    return interleaved_reports(chosen, rounds, run, progress)


def _command_line() -> str:
    """The command as it was typed, for the record; files are named without their folders."""
    return " ".join(["envdoctor", *(Path(word).name if os.sep in word else word for word in sys.argv[1:])])
