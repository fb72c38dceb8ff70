"""The verdict on a measured speed: as expected, faster, slower, unstable or not comparable; never a bare boolean."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.facts.model import Facts
from envdoctor.locks.target import Baseline, Target
from envdoctor.speed import decision, roofline, unrecorded
from envdoctor.speed.cost import Cost, Price, at_speed, cost
from envdoctor.speed.decision import Ruling
from envdoctor.speed.evidence.gather import gather
from envdoctor.speed.evidence.run import Context, TimedRun
from envdoctor.speed.evidence.suppliers import all_evidence
from envdoctor.speed.outcome import Verdict
from envdoctor.speed.report import Report


def judge(
    reports: Sequence[Report],
    baseline: Baseline | None,
    *,
    target: Target | None = None,
    facts: Facts | None = None,
    same_machine: bool = False,
    steps: int | None = None,
    price_per_hour: Price | None = None,
    clock_spread: float | None = None,
) -> Verdict:
    """Judge the runs of q fresh processes against a recorded baseline. Raises ValueError without a report.

    ``target`` tells the chosen stack, its pins and flags; ``facts`` the state of the GPU; ``steps`` and
    ``price_per_hour`` only make the cost. ``clock_spread``: log-sd of the GPU's clock while it worked.
    ``same_machine``: the baseline is known to be of this very machine (GPUs are recognised by themselves, through
    ``facts``).
    """
    if not reports:
        raise ValueError("there is no report to judge")
    run, context = gather(reports, baseline, target, facts, same_machine=same_machine, clock_spread=clock_spread)
    evidence = all_evidence(run, baseline, context)
    if context.comparable and context.machine is not None and baseline is not None:
        found = decision.ruling(baseline, run, context, context.machine, evidence)
    else:
        found = unrecorded.ruling(run, baseline, context, evidence)
    spent = cost(steps, run.steps_per_second, price_per_hour) if steps is not None and run.steps_per_second else None
    return _verdict(run, baseline, context, found, spent)


def _verdict(run: TimedRun, baseline: Baseline | None, context: Context, found: Ruling, spent: Cost | None) -> Verdict:
    rate, estimated = run.steps_per_second, found.estimate
    return Verdict(
        word=found.word,
        cause=found.cause,
        reasons=found.reasons,
        because=found.because,
        headline=found.headline,
        instead=found.instead,
        more_processes=found.more_processes,
        comparison=estimated.comparison if estimated else None,
        resolution=found.resolution,
        tolerance=estimated.tolerance if estimated else None,
        machine=context.machine if estimated else None,
        evidence=found.evidence
        or (context.relation.evidence if estimated and context.relation else _evidence_of(baseline)),
        workload=run.reports[0].workload or "",
        steps_per_second=rate,
        tokens_per_second=run.tokens_per_second,
        roofline=roofline.of_report(run.timed[0], rate) if rate else None,
        breakdown=run.breakdown,
        step=context.step,
        reports=run.reports,
        baseline=baseline,
        cost=spent,
        fixed=_cost_per_step(found, spent),
    )


def _evidence_of(baseline: Baseline | None) -> str:
    return baseline.evidence if baseline is not None else "none"


def _cost_per_step(found: Ruling, spent: Cost | None) -> Cost | None:
    if found.word != "slower" or spent is None or found.estimate is None:
        return None
    return at_speed(spent, 1.0 / found.estimate.comparison.ratio)
