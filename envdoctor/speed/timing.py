"""Timing a workload in fresh processes until the verdict is decided, at most three."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from envdoctor.errors import Trouble
from envdoctor.facts.environment import Environment
from envdoctor.facts.model import Facts, Gpu, Unavailable
from envdoctor.knowledge import gpus
from envdoctor.launch import trainer
from envdoctor.launch.trainer import Measure, Order
from envdoctor.locks.library import load_targets
from envdoctor.locks.target import Baseline, Target
from envdoctor.speed.ablation.interleaving import Variant
from envdoctor.speed.baselines.derive import derive
from envdoctor.speed.cost import Price
from envdoctor.speed.evidence import working_gpu
from envdoctor.speed.evidence.gpu_readings import gpu_readings
from envdoctor.speed.outcome import Verdict
from envdoctor.speed.report import Report, parse
from envdoctor.speed.verdict import judge
from envdoctor.speed.without_timing import without_timing
from envdoctor.values.frozen import frozen


def ignore_progress(_: str) -> None:
    """A workload's own progress lines are not shown: its steps are too short to watch."""


DEADLINE = 300.0  # seconds for one process: start-up, warm-up (20 s at most), timed span (60 s at most) and a margin
MOST_PROCESSES = 3
FEWER_WINDOWS = 10
"""Where a step is held against the model alone, which may err by a fifth: so many windows err by a hundredth."""


@frozen
class TimingOptions:
    """What to time and how; ``measure`` can be shortened for trying out, at the price of a wider interval.

    ``settings`` go to the trainer on top of the workload's own.
    """

    workload: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    processes: int = MOST_PROCESSES
    measure: Measure = field(default_factory=Measure)
    steps: int | None = None
    price: Price | None = None


def workload_of(target: Target, asked: str | None) -> str:
    """The workload asked for, else the one that the target has a baseline of, else the one that fits the device."""
    if asked is not None:
        return asked
    stack = target.choice.stack if target.choice else None
    for baseline in target.baselines:
        if baseline.stack == stack and baseline.evidence != "claimed":
            return baseline.workload
    return "chat-5m" if target.is_cpu else "chat-135m"


def run_variant(
    environment: Environment,
    target: Target,
    workload: str,
    measure: Measure,
    variant: Variant,
    *,
    without: Sequence[str] = (),
    folder: Path | None = None,
    on_line: Callable[[str], None] | None = None,
) -> Report:
    """Time a variant of a workload in one fresh process. A run that fails is a report with its error, not an exception.

    ``without``: variables of the caller that it must not see. ``folder``: where it runs (default: a fresh one).
    """
    order = Order(
        workload=workload,
        settings=variant.settings,
        flags={**target.flags, **variant.flags},
        variables={**target.variables, **variant.variables},
        without=tuple(without),
        measure=measure,
    )
    folder = folder or trainer.new_run_folder("ablate")
    data = trainer.train(environment, order, folder, deadline=DEADLINE, on_line=on_line)
    return parse(data, folder / "report.json")


def run_once(
    environment: Environment,
    target: Target,
    workload: str,
    measure: Measure,
    *,
    settings: Mapping[str, Any] | None = None,
    folder: Path | None = None,
    on_line: Callable[[str], None] | None = None,
) -> Report:
    """Time a workload in one fresh process. Raises `Trouble` (exit code 3) when the training itself fails."""
    folder = folder or trainer.new_run_folder(workload)
    variant = Variant(name=workload, settings=settings or {})
    report = run_variant(environment, target, workload, measure, variant, folder=folder, on_line=on_line)
    if report.outcome != "finished":
        error = report.error or {}
        raise Trouble(
            f"the training failed: {error.get('message', report.outcome)}",
            file=folder / "report.json",
            remedy=str(error.get("remedy") or "Check the environment first: envdoctor check"),
            exit_code=3,
        )
    return report


def time_and_judge(
    environment: Environment,
    target: Target,
    timing: TimingOptions,
    *,
    facts: Facts | None,
    progress: Callable[[str], None],
    on_line: Callable[[str], None] | None = None,
) -> Verdict:
    """Time the workload; run further fresh processes while the verdict asks for them."""
    workload = workload_of(target, timing.workload)
    stack = target.choice.stack if target.choice else ""
    measure = timing.measure
    if not target.is_cpu and expected_baseline(target, workload, stack, facts) is None and measure == Measure():
        measure = replace(measure, windows=FEWER_WINDOWS)
    reports: list[Report] = []
    readings: list[Gpu] = []
    while True:
        progress(f"timing {workload}, process {len(reports) + 1} of at most {timing.processes} (a minute each)")
        with gpu_readings(facts) as during:
            report = run_once(environment, target, workload, measure, settings=timing.settings, on_line=on_line)
        reports.append(report)
        readings += during
        verdict = judge(
            reports,
            expected_baseline(target, workload, stack, facts, report.precision),
            target=target,
            facts=working_gpu.facts_while_working(facts, readings, report.device) if facts is not None else None,
            steps=timing.steps,
            price_per_hour=timing.price,
            clock_spread=working_gpu.unsteady_clock(readings, facts, report.device),
        )
        if not verdict.more_processes or len(reports) >= timing.processes:
            return verdict


def judged_without_timing(target: Target, timing: TimingOptions, facts: Facts) -> Verdict | None:
    """The verdict where training a workload could tell nothing, from facts that need no torch; else None."""
    workload = workload_of(target, timing.workload)
    baseline = expected_baseline(target, workload, target.choice.stack if target.choice else "", facts)
    return without_timing(facts, target, workload, baseline)


def expected_baseline(
    target: Target, workload: str, stack: str, facts: Facts | None, precision: str | None = None
) -> Baseline | None:
    """The target's baseline of this workload and stack; else one derived from the nearest measured chip, else None.

    ``precision``: the format a run has chosen; CPUs with units for bfloat16 and CPUs without are one target.
    """
    own = target.baseline(workload, stack, precision)
    if own is not None or target.is_cpu or facts is None or isinstance(facts.gpus, Unavailable):
        return own
    chip = gpus.board(facts.gpus.devices[0].name) if facts.gpus.devices else None
    if chip is None:
        return None
    known = (*target.baselines, *(b for other in load_targets().values() for b in other.baselines))
    return derive(chip, known, workload, stack)
