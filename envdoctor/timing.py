"""Timing a workload in fresh processes until the verdict is decided, at most three."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from envdoctor import handoff
from envdoctor.environment import Environment
from envdoctor.errors import Trouble
from envdoctor.facts import Facts, Gpu, Unavailable
from envdoctor.frozen import dataclass
from envdoctor.handoff import Measure, Order
from envdoctor.library import load_targets
from envdoctor.speed import chips, gpu_watch
from envdoctor.speed import report as reports
from envdoctor.speed.derive import derive
from envdoctor.speed.interleaving import Variant
from envdoctor.speed.outcome import Verdict
from envdoctor.speed.report import Report
from envdoctor.speed.verdict import judge
from envdoctor.target import Baseline, Target
from envdoctor.watching import watched

DEADLINE = 300.0  # seconds for one process: start-up, warm-up (20 s at most), timed span (60 s at most) and a margin
MOST_PROCESSES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What to time and how; ``measure`` can be shortened for trying out, at the price of a wider interval.

    ``settings`` go to the trainer on top of the workload's own.
    """

    workload: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    processes: int = MOST_PROCESSES
    measure: Measure = field(default_factory=Measure)
    steps: int | None = None
    price: float | None = None


def workload_of(target: Target, asked: str | None) -> str:
    """The workload asked for, else the one that the target has a baseline of, else the one that fits the device."""
    if asked is not None:
        return asked
    stack = target.choice.stack if target.choice else None
    for baseline in target.baselines:
        if baseline.stack == stack and baseline.evidence != "claimed":
            return baseline.workload
    return "chat-5m" if target.is_cpu else "chat-135m"


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
    order = Order(
        workload=workload,
        settings=settings or {},
        flags=target.flags,
        variables=target.variables,
        measure=measure,
    )
    folder = folder or handoff.new_run_folder(workload)
    data = handoff.train(environment, order, folder, deadline=DEADLINE, on_line=on_line)
    if data.get("outcome") != "finished":
        error = data.get("error") or {}
        raise Trouble(
            f"the training failed: {error.get('message', data.get('outcome'))}",
            file=folder / "report.json",
            remedy=str(error.get("remedy") or "Check the environment first: envdoctor check"),
            exit_code=3,
        )
    return reports.parse(data, folder / "report.json")


def run_variant(
    environment: Environment,
    target: Target,
    workload: str,
    measure: Measure,
    variant: Variant,
    *,
    without: Sequence[str] = (),
    on_line: Callable[[str], None] | None = None,
) -> Report:
    """Time one arm of an ablation in a fresh process. A run that fails is a report with its error, not an exception.

    ``without``: variables of the caller that it must not see.
    """
    order = Order(
        workload=workload,
        settings=variant.settings,
        flags={**target.flags, **variant.flags},
        variables={**target.variables, **variant.variables},
        without=tuple(without),
        measure=measure,
    )
    folder = handoff.new_run_folder("ablate")
    data = handoff.train(environment, order, folder, deadline=DEADLINE, on_line=on_line)
    if data.get("device") is None:
        data = {**data, "device": {"type": "unknown", "name": "unknown"}}
    return reports.parse({key: value for key, value in data.items() if value is not None}, folder / "report.json")


def time_and_judge(
    environment: Environment,
    target: Target,
    timing: Timing,
    *,
    facts: Facts | None,
    progress: Callable[[str], None],
    on_line: Callable[[str], None] | None = None,
) -> Verdict:
    """Time the workload; run further fresh processes while the verdict asks for them."""
    workload = workload_of(target, timing.workload)
    stack = target.choice.stack if target.choice else ""
    done: list[Report] = []
    looks: list[Gpu] = []
    while True:
        progress(f"timing {workload}, process {len(done) + 1}")
        with watched(facts) as seen:
            done.append(
                run_once(environment, target, workload, timing.measure, settings=timing.settings, on_line=on_line)
            )
        looks += seen
        verdict = judge(
            done,
            expected(target, workload, stack, facts, done[0].precision),
            target=target,
            facts=gpu_watch.merged(facts, looks) if facts is not None else None,
            steps=timing.steps,
            price_per_hour=timing.price,
            clock_spread=gpu_watch.unsteady_clock(looks),
        )
        if not verdict.more_processes or len(done) >= timing.processes:
            return verdict


def expected(
    target: Target, workload: str, stack: str, facts: Facts | None, precision: str | None = None
) -> Baseline | None:
    """The target's baseline of this workload and stack; else one derived from the nearest measured chip, else None.

    ``precision``: the format a run has chosen; CPUs with units for bfloat16 and CPUs without are one target.
    """
    own = target.baseline(workload, stack, precision)
    if own is not None or target.is_cpu or facts is None or isinstance(facts.gpus, Unavailable):
        return own
    chip = chips.find(facts.gpus.devices[0].name) if facts.gpus.devices else None
    if chip is None:
        return None
    known = (*target.baselines, *(b for other in load_targets().values() for b in other.baselines))
    return derive(chip, known, workload, stack)
