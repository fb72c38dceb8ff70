"""From reports and a baseline to what suppliers of evidence work on."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace

from envdoctor.facts.model import Facts
from envdoctor.locks.target import Baseline, Target
from envdoctor.speed import breakdown
from envdoctor.speed import statistics as speeds
from envdoctor.speed.evidence.card import card_of
from envdoctor.speed.evidence.machine_fit import machine_speed
from envdoctor.speed.evidence.modelled_step import modelled_step
from envdoctor.speed.evidence.pace import pace_of
from envdoctor.speed.evidence.relation import relate
from envdoctor.speed.evidence.run import Context, TimedRun
from envdoctor.speed.report import Report


def run_of(reports: Sequence[Report]) -> TimedRun:
    """The run by the clock alone."""
    timed = tuple(report for report in reports if report.windows)
    processes = tuple(speeds.process(r.rates, [window.seconds for window in r.windows]) for r in timed)
    return TimedRun(
        reports=tuple(reports),
        timed=timed,
        processes=processes,
        breakdown=breakdown.of_windows([window for report in timed for window in report.windows]),
        steps_per_second=math.exp(statistics.fmean(math.log(p.rate) for p in processes)) if processes else None,
    )


def gather(
    reports: Sequence[Report],
    baseline: Baseline | None,
    target: Target | None,
    facts: Facts | None,
    *,
    same_machine: bool,
    clock_spread: float | None,
) -> tuple[TimedRun, Context]:
    """The run, at the baseline's pace where that is known, and everything known beside it."""
    run = run_of(reports)
    context = Context(target=target, facts=facts, clock_spread=clock_spread)
    if run.timed:
        context = replace(context, card=card_of(run.timed[-1], facts))
    if context.card is not None:
        step = modelled_step(run.timed, run.breakdown, run.steps_per_second, context.card.model)
        context = replace(context, step=step)
    if not run.timed or baseline is None:
        return run, context
    relation = relate(run.timed[0], baseline, target, facts, same_machine=same_machine)
    pace = pace_of(run.timed, baseline, relation)
    recorded = tuple(speeds.process(row) for row in baseline.windows)
    if at_pace := pace if pace is not None and pace.processes else None:
        run, recorded = replace(run, processes=at_pace.processes), at_pace.recorded
    context = replace(context, relation=relation, pace=pace, recorded=recorded)
    if len(recorded) < speeds.FEWEST_BASELINE_PROCESSES:  # claims too: nothing to hold a run against
        return run, context
    machine = machine_speed(run.timed, baseline, relation, at_pace)
    if len(machine.baseline_log_factors) != len(recorded):
        machine = replace(machine, baseline_log_factors=())
    return run, replace(context, machine=machine, comparable=machine.known or relation.match != "other-model")
