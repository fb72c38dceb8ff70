"""The verdict on a measured speed: as expected, faster, slower, unstable or not comparable; never a bare boolean."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.facts.model import Facts
from envdoctor.locks.target import Baseline, Target
from envdoctor.speed import breakdown, roofline
from envdoctor.speed import statistics as speeds
from envdoctor.speed.cost import Cost, Price, at_speed, cost
from envdoctor.speed.decision import COARSEST, LEAST_EFFECT, Estimate, Word, blockers, decide, estimate, explain
from envdoctor.speed.evidence.evidence import Evidence
from envdoctor.speed.evidence.gather import gather
from envdoctor.speed.evidence.machine import MachineSpeed
from envdoctor.speed.evidence.run import Context, TimedRun
from envdoctor.speed.evidence.suppliers import all_evidence
from envdoctor.speed.outcome import Verdict
from envdoctor.speed.report import Report
from envdoctor.speed.ruling import Ruling
from envdoctor.speed.unrecorded import of_card


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
        found = _compared_with(baseline, run, context, context.machine, evidence)
    else:
        found = of_card(run, baseline, context, evidence) or _not_compared(run, evidence)
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
        tokens_per_second=tokens_per_second(run),
        roofline=roofline.of_report(run.timed[0], rate) if rate else None,
        breakdown=run.breakdown,
        step=context.step,
        reports=run.reports,
        baseline=baseline,
        cost=spent,
        fixed=_cost_per_step(found, spent),
    )


def _compared_with(
    baseline: Baseline, run: TimedRun, context: Context, machine: MachineSpeed, evidence: Sequence[Evidence]
) -> Ruling:
    found = estimate(run, context, machine, evidence)
    decided, standing = decide(found, evidence)
    word, more, said = _settle(decided, found, standing, run, context)
    remarks = [one.text for one in evidence if one.cause is None and one.blocks is None and one.text]
    reasons = [*(one.text for one in standing), *remarks, *said]
    if word in ("as-expected", "faster"):
        if machine.known and abs(machine.log_factor) > LEAST_EFFECT:
            reasons.append(f"{machine.sentence}: taken off")
        resolution = found.resolution_at_the_clock if standing else found.resolution
        return Ruling(word=word, cause=None, reasons=tuple(reasons), estimate=found, resolution=resolution)
    cause = explain(found, standing, evidence)
    sentence = cause.text if cause is not None else _no_explanation(baseline, context.target)
    if sentence not in reasons:
        reasons.append(sentence)
    first = standing[0] if standing else cause
    because = said[0] if said and not standing else ((first.plain or first.text) if first else sentence)
    return Ruling(
        word=word,
        cause=cause.cause if cause is not None else None,
        reasons=tuple(reasons),
        because=because,
        more_processes=more,
        estimate=found,
        resolution=found.resolution,
    )


def _settle(
    word: Word | None, found: Estimate, standing: Sequence[Evidence], run: TimedRun, context: Context
) -> tuple[Word, int, list[str]]:
    """The word where the interval allows two or one process is not enough, how many more would help, and why."""
    more = max(speeds.STAGES[-1] - len(run.timed), 0)
    if context.pace is not None and not context.pace.processes:
        return word or "unstable", more, []  # the machine may give its usual pace again
    if word == "slower" and run.timed[0].device.type == "cpu" and more:
        text = "it looks slower, but on a shared CPU one process proves nothing: neighbours come and go"
        return "unstable", more, [text]
    if word is not None:
        return word, 0, []
    more = more if standing or speeds.sharpens(found.comparison, context.recorded, found.doubt) else 0
    low, high = found.comparison.interval
    if more:
        text = f"undecided: {low:.3f} to {high:.3f} of the baseline's speed is neither slower nor as expected"
        return "unstable", more, [text]
    if (found.resolution_at_the_clock if standing else found.resolution) <= COARSEST:
        return "as-expected", 0, [f"between {low:.2f} and {high:.2f} of the baseline's speed, as far as could be seen"]
    return "unstable", 0, ["its speed varies so much that even half of it could be meant"]


def _no_explanation(baseline: Baseline, target: Target | None) -> str:
    if baseline.lock is None or target is None or target.choice is None:
        return "the installed versions could not be compared with the baseline's: check them first"
    return "machine, load, versions and settings are like the baseline's: nothing measured explains it"


def _not_compared(run: TimedRun, evidence: Sequence[Evidence]) -> Ruling:
    """Claims, failed runs, other workloads, machines without a common probe: what is seen without a comparison."""
    found = blockers(evidence)
    reasons = [one.text for one in sorted(found, key=lambda one: one.blocks or "")]
    cause = next((one.cause for one in found if one.cause is not None), None)
    if run.breakdown.known and run.breakdown.shares["data"] > breakdown.DATA_WAIT_LIMIT:
        cause = "data"
        reasons.append(breakdown.diagnose(run.breakdown))
    first = min(found, key=lambda one: one.blocks or "") if found else None
    because = (first.plain or first.text) if first is not None else ""
    return Ruling(word="not-comparable", cause=cause, reasons=tuple(reasons), because=because)


def _evidence_of(baseline: Baseline | None) -> str:
    return baseline.evidence if baseline is not None else "none"


def _cost_per_step(found: Ruling, spent: Cost | None) -> Cost | None:
    if found.word != "slower" or spent is None or found.estimate is None:
        return None
    return at_speed(spent, 1.0 / found.estimate.comparison.ratio)


def tokens_per_second(run: TimedRun) -> dict[str, float]:
    """Trained tokens, real ones and slots per second, over all windows."""
    steps = sum(window.steps for report in run.timed for window in report.windows)
    if not steps or run.steps_per_second is None:
        return {}
    totals = {
        name: sum(window.tokens.get(name, 0.0) for report in run.timed for window in report.windows)
        for name in ("trained", "real", "slots")
    }
    return {name: total / steps * run.steps_per_second for name, total in totals.items()}
