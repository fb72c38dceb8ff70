"""``envdoctor ablate``: what each setting, or each of two environments, is worth on this machine."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from envdoctor import bundle, doctor
from envdoctor.commands import _options
from envdoctor.commands._output import print_json, stderr, stdout, write
from envdoctor.commands._progress import steps
from envdoctor.commands.verify import quiet
from envdoctor.document import read_json
from envdoctor.environment import Environment, locate
from envdoctor.errors import Trouble
from envdoctor.examination import Question
from envdoctor.handoff import Measure
from envdoctor.render.ablation import document, render, render_claims, slim
from envdoctor.speed import claims, experiments, variants
from envdoctor.speed.ablation import Ablation, Row, evaluate
from envdoctor.speed.interleaving import Variant, ladder, plan
from envdoctor.speed.report import Report, parse
from envdoctor.target import Target
from envdoctor.timing import run_variant, workload_of

KEPT = Path("claims", "cpu.json")  # below the lockfiles: what the claims came to where they were measured last


@click.command("ablate")
@click.argument("names", nargs=-1, metavar="[VARIANT]...")
@_options.environment
@_options.target
@click.option("--envs", nargs=2, type=click.Path(path_type=Path), metavar="A B", help="Compare environments instead.")
@click.option("--ladder", "ladder_", is_flag=True, help="Add the variants one after the other.")
@click.option("--claims", "claims_", is_flag=True, help="Print what the write-ups claim beside what it comes to here.")
@click.option(
    "--measure", is_flag=True, help="With --claims: measure on this machine (about 8 minutes) and print that."
)
@click.option("--measured", type=click.Path(path_type=Path), help="With --claims: JSON of an earlier ablation to use.")
@click.option("--list", "list_", is_flag=True, help="List the variants.")
@click.option("--rounds", type=click.IntRange(2, 50), default=3, show_default=True, help="Runs of each variant.")
@click.option("--windows", type=click.IntRange(4, 200), default=10, show_default=True, help="Windows of each run.")
@click.option("--workload", metavar="NAME", help="Default: the target's own.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="JSON with all raw numbers, into a file.")
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text", show_default=True)
def command(
    names: tuple[str, ...],
    env: Path | None,
    target_name: str,
    stack: str | None,
    envs: tuple[Path, Path] | None,
    ladder_: bool,
    claims_: bool,
    measure: bool,
    measured: Path | None,
    list_: bool,
    rounds: int,
    windows: int,
    workload: str | None,
    output: Path | None,
    format_: str,
) -> None:
    """Time variants of the workload in interleaved fresh processes: A B, B A, ...

    Each ratio comes with an interval, a check that the losses are equal, and the memory beside it.

    --claims prints what write-ups claim of each setting beside what was measured with it: at once from the numbers that
    are kept with the lockfiles, with --measure from this machine.

    \b
    Examples:
      envdoctor ablate --list
      envdoctor ablate no-packing all-logits --target cpu --env ./env
      envdoctor ablate --envs ./old ./new
      envdoctor ablate --claims
      envdoctor ablate --claims --measure --output mine.json
    """
    if list_:
        for variant in variants.VARIANTS:
            stdout().print(f"{variant.name:<20} {variant.why}", markup=False)
        return
    if claims_ and not measure and not names:
        kept = measured if measured is not None else bundle.lockfiles() / KEPT
        _print_claims(*(_earlier(kept) if measured is not None or kept.is_file() else ({}, {}, {})))
        return
    if claims_:
        names = names or claims.variants_to_measure("cpu")
    chosen = _chosen(names, envs, ladder_)
    with steps(stderr()) as progress:
        progress("examining the environment")
        environment = locate(envs[0] if envs else env).require()
        target = doctor.examine(environment, Question(target=target_name, stack=stack)).target
        reports = _run(chosen, environment, target, workload_of(target, workload), rounds, windows, progress)
        found = _experiments(environment, progress) if claims_ else {}
    against: Any = "previous" if ladder_ else "first"
    ablation = evaluate(chosen, reports, against=against)
    data = document(ablation, reports, command=_typed(), found=found)
    if output is not None:
        write(output, json.dumps(slim(data) if claims_ else data, separators=(",", ":")) + "\n")
    if format_ == "json":
        print_json(data)
    elif claims_:
        _print_claims(_rows(ablation), data["conditions"], found)
    else:
        render(ablation, stdout())


def _chosen(names: Sequence[str], envs: tuple[Path, Path] | None, ladder_: bool) -> tuple[Variant, ...]:
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


def _run(
    chosen: Sequence[Variant],
    environment: Environment,
    target: Target,
    workload: str,
    rounds: int,
    windows: int,
    progress: Callable[[str], None],
) -> dict[str, list[Report]]:
    order = plan(chosen, rounds)
    reports: dict[str, list[Report]] = {variant.name: [] for variant in chosen}
    measure = Measure(windows=windows)
    for number, variant in enumerate(order, 1):
        progress(f"run {number} of {len(order)}: {variant.name}")
        where = environment if variant.environment is None else locate(variant.environment)
        reports[variant.name].append(run_variant(where, target, workload, measure, variant, on_line=quiet))
    return reports


def _experiments(environment: Environment, progress: Callable[[str], None]) -> dict[str, Any]:
    progress("small experiments on the claims")
    return experiments.run(environment)


def _typed() -> str:
    """The command as it was typed, for the record; files are named without their folders."""
    return " ".join(["envdoctor", *(Path(word).name if os.sep in word else word for word in sys.argv[1:])])


Rows = Mapping[tuple[str, str], Row]


def _rows(ablation: Ablation) -> Rows:
    return {(row.variant.name, row.against): row for row in ablation.rows}


def _earlier(path: Path) -> tuple[Rows, Mapping[str, Any], Mapping[str, Any]]:
    """Rows, conditions and experiments of an earlier ablation; a comparison of environments kept with it as well."""
    data = read_json(path, limit=256 * 1024 * 1024)
    rows = dict(_judged(data, path))
    for other in data.get("environments", ()):
        rows |= _judged(other, path)
    return rows, data.get("conditions") or {}, data.get("experiments") or {}


def _judged(data: object, path: Path) -> Rows:
    if not isinstance(data, dict) or data.get("schema") != 1 or "reports" not in data:
        raise Trouble("not the JSON of an ablation", file=path, remedy="Make one: envdoctor ablate ... --output FILE")
    reports = {name: [parse(report, path) for report in runs] for name, runs in data["reports"].items()}
    known = {variant.name: variant for variant in (variants.DEFAULT, *variants.VARIANTS)}
    chosen = [known.get(name, Variant(name=name, environment=Path(name))) for name in reports]
    return _rows(evaluate(chosen, reports))


def _print_claims(rows: Rows, conditions: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    device = (conditions.get("device") or {}).get("type", "cpu")
    render_claims(claims.table(rows, device=device, found=found), stdout(), conditions)
