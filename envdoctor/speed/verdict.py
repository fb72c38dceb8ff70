"""The verdict on a measured speed: as expected, faster, slower, unstable or not comparable; never a bare boolean.

Three-valued logic: *slower* needs an effect of 3 % and an interval below 1; *as expected* needs an interval that ends
within the tolerance; whatever lies between is undecided, and asks for more fresh processes before it gives up.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from envdoctor.facts import Facts
from envdoctor.speed import attribution, breakdown, conditions, kinship, probes, roofline
from envdoctor.speed import statistics as speeds
from envdoctor.speed.breakdown import Breakdown
from envdoctor.speed.conditions import Cause, Obstacle
from envdoctor.speed.cost import at_speed, cost
from envdoctor.speed.kinship import Relation
from envdoctor.speed.outcome import Verdict, Word
from envdoctor.speed.pace import Paced, paced
from envdoctor.speed.probes import Machine
from envdoctor.speed.report import Report
from envdoctor.speed.roofline import Roofline
from envdoctor.speed.statistics import Comparison, Process
from envdoctor.target import Baseline, Target

LEAST_EFFECT = 0.03
"""Log effect below which nothing is called slower or faster, however certain: nobody acts on 2 %."""
LEAST_TOLERANCE = 0.05
"""As expected means: the interval ends above 5 % slower, or wider where the baseline's own noise forbids that."""
WIDEST_TOLERANCE = {"measured": 0.20, "derived": 0.45}
"""Beyond this "as expected" would promise nothing, and the run is undecided."""


def judge(
    reports: Sequence[Report],
    baseline: Baseline | None,
    *,
    target: Target | None = None,
    facts: Facts | None = None,
    same_machine: bool = False,
    steps: int | None = None,
    price_per_hour: float | None = None,
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
    timed = [report for report in reports if report.windows]
    runs = [speeds.process(r.rates, [w.seconds for w in r.windows]) for r in timed]
    rate = math.exp(statistics.fmean(math.log(run.rate) for run in runs)) if runs else None
    spent = breakdown.of_windows([window for report in timed for window in report.windows])
    common: dict[str, Any] = {
        "workload": reports[0].workload or "",
        "steps_per_second": rate,
        "tokens_per_second": _tokens_per_second(timed, rate),
        "roofline": roofline.of_report(timed[0], rate) if rate else None,
        "breakdown": spent,
        "reports": tuple(reports),
        "baseline": baseline,
        "cost": cost(steps, rate, price_per_hour) if steps is not None and rate else None,
    }
    recorded = [speeds.process(row) for row in baseline.windows] if baseline else []
    relation = (
        kinship.relate(timed[0], baseline, target, facts, same_machine=same_machine) if timed and baseline else None
    )
    pace = _pace(timed, baseline, relation)
    halved = pace if pace is not None and not pace.runs else None  # no process had its machine to itself
    if halved is not None:
        pace = None
    if pace is not None:
        runs, recorded = list(pace.runs), list(pace.recorded)
    obstacles = [
        *([conditions.of_pace(halved.pace)] if halved is not None else []),
        *conditions.of_reports(reports, runs, recorded, paced=pace is not None),
        *conditions.of_baseline(reports, baseline),
        *conditions.of_facts(facts, reports[0].device.type, baseline),
        *conditions.of_clock(clock_spread),
        *_above_roofline(common["roofline"]),
        *_impossible_baseline(baseline, timed),
    ]
    # What cannot be compared at all ends here: claims, failed runs, other workloads.
    if relation is None or not runs or len(recorded) < speeds.FEWEST_BASELINE_PROCESSES:
        return _without_comparison(common, obstacles, spent)
    found = _compared(common, obstacles, timed, runs, recorded, relation, target, pace)
    if halved is not None:
        return replace(found, more_processes=max(speeds.LOOKS[-1] - len(timed), 0))
    return found


def _pace(reports: Sequence[Report], baseline: Baseline | None, relation: Relation | None) -> Paced | None:
    """The machine's pace, where it can be told from what is looked for.

    Its work runs through torch, with its threads and in its number format: with others, a slower pace would excuse
    the very fault.
    """
    if baseline is None or relation is None or not relation.probes_comparable or relation.kinship == "other-model":
        return None
    if any(report.precision != baseline.conditions.get("precision") for report in reports):
        return None
    return paced(reports, baseline)


def _compared(
    common: dict[str, Any],
    obstacles: list[Obstacle],
    reports: Sequence[Report],
    runs: Sequence[Process],
    recorded: Sequence[Process],
    relation: Relation,
    target: Target | None,
    pace: Paced | None,
) -> Verdict:
    baseline: Baseline = common["baseline"]
    if pace is not None:
        machine = probes.at_pace(pace.pace, pace.taken_off, pace.spread, kinship=relation.kinship)
    else:
        machine = probes.machine(
            [report.reference_probes for report in reports] if relation.probes_comparable else [],
            baseline.probes,
            precision=reports[0].precision,
            kinship=relation.kinship,
            weights=probes.shares(kinship.mapping(baseline.conditions, "breakdown")),
        )
    if not machine.known and relation.kinship == "other-model":
        return _without_comparison(common, [*obstacles, conditions.nothing_in_common(baseline)], common["breakdown"])
    doubt = math.hypot(machine.spread, relation.spread)
    comparison = speeds.compare(
        runs,
        recorded,
        log_factors=machine.log_factors,
        baseline_log_factors=machine.baseline_log_factors if len(machine.baseline_log_factors) == len(recorded) else (),
        probe_spread=doubt,
        least=LEAST_EFFECT,
    )
    tolerance = speeds.tolerance(recorded, probe_spread=doubt, least=LEAST_TOLERANCE)
    obstacles += conditions.of_machine(machine, relation.kinship, reports, baseline)
    if speeds.disagree(runs, comparison.run_spread, len(recorded) - 1):
        said = ", ".join(f"{run.rate:.4g}" for run in runs)
        text = f"the processes differ among themselves far more than the baseline's did: {said} steps per second"
        obstacles.append(Obstacle(word="unstable", text=text, cause="contention"))
    word: Word | None = _decide(comparison, tolerance, WIDEST_TOLERANCE[relation.evidence])
    slow_chip = (
        reports[0].device.type != "cpu"
        and relation.kinship != "other-model"
        and machine.log_factor < -conditions.USUAL_RANGE["cuda"]
    )
    word, obstacles = _weigh(word, obstacles, comparison, machine, tolerance, slow_chip=slow_chip)
    reasons = [*(obstacle.text for obstacle in obstacles), *relation.remarks]
    if pace is not None and pace.aside:
        reasons.append(
            f"set aside: {pace.aside} of {len(reports)} processes, for the machine's pace was far below usual"
        )
    more = max(speeds.LOOKS[-1] - len(reports), 0)
    if word == "slower" and reports[0].device.type == "cpu" and more:
        word = "unstable"
        reasons.append("it looks slower, but on a shared CPU one process proves nothing: neighbours come and go")
    elif word is None:
        more = more if speeds.sharpens(comparison, recorded, doubt) else 0
        word = "not-comparable" if relation.evidence == "derived" and not more else "unstable"
        low, high = comparison.interval
        reasons.append(f"undecided: {low:.3f} to {high:.3f} of the baseline's speed is neither slower nor as expected")
    else:
        more = 0
    cause: Cause | None = None
    if word not in ("as-expected", "faster"):
        found = attribution.attribute(
            ratio=comparison.ratio,
            machine=machine,
            reports=reports,
            breakdown=common["breakdown"],
            baseline=baseline,
            target=target,
            obstacles=obstacles,
        )
        cause = found.cause
        if found.sentence not in reasons:
            reasons.append(found.sentence)
    elif machine.known and abs(machine.log_factor) > LEAST_EFFECT:
        reasons.append(f"{machine.said}: taken off")
    if word == "slower" and common["cost"] is not None:
        common["fixed"] = at_speed(common["cost"], 1.0 / comparison.ratio)
    return Verdict(
        word=word,
        cause=cause,
        reasons=tuple(reasons),
        more_processes=more,
        comparison=comparison,
        tolerance=tolerance,
        machine=machine,
        evidence=relation.evidence,
        **common,
    )


def _decide(comparison: Comparison, tolerance: float, widest: float) -> Word | None:
    """The word that the interval allows, or None when it allows two."""
    d = math.log(comparison.ratio)
    low, high = comparison.interval
    if d < -LEAST_EFFECT and high < 1.0:
        return "slower"
    if d > LEAST_EFFECT and low > 1.0:
        return "faster"
    if tolerance <= widest and math.log(low) > -tolerance:
        return "as-expected"
    return None


def _weigh(
    word: Word | None,
    obstacles: list[Obstacle],
    comparison: Comparison,
    machine: Machine,
    tolerance: float,
    *,
    slow_chip: bool,
) -> tuple[Word | None, list[Obstacle]]:
    """Obstacles decide before the interval does; those that can only slow a run down do not unseat full speed.

    Full speed means full on the clock too, not only after the machine factor was divided out: a disturbed probe would
    otherwise excuse a disturbed run.
    """
    raw = math.log(comparison.ratio) + machine.log_factor
    if word in ("as-expected", "faster") and raw > -tolerance:
        obstacles = [obstacle for obstacle in obstacles if not obstacle.passing]
    words = {obstacle.word for obstacle in obstacles}
    if "not-comparable" in words:
        return "not-comparable", sorted(obstacles, key=lambda obstacle: obstacle.word)
    if "unstable" in words:
        return "unstable", obstacles
    if word == "as-expected" and slow_chip:
        # On a CPU neighbours do this, and more of it is an obstacle; on a rented GPU it is a finding.
        text = f"{machine.said}: chips of one model differ by less"
        return "slower", [Obstacle(word="unstable", text=text, cause="machine")]
    return word, obstacles


def _without_comparison(common: dict[str, Any], obstacles: list[Obstacle], spent: Breakdown) -> Verdict:
    causes = [obstacle.cause for obstacle in obstacles if obstacle.cause]
    waits = spent.known and spent.shares["data"] > breakdown.DATA_WAIT_LIMIT
    reasons = [obstacle.text for obstacle in sorted(obstacles, key=lambda obstacle: obstacle.word)]
    if waits:
        reasons.append(breakdown.diagnose(spent))
    baseline = common["baseline"]
    return Verdict(
        word="not-comparable",
        cause="data" if waits else (causes[0] if causes else None),
        reasons=tuple(reasons),
        evidence=baseline.evidence if baseline else "none",
        **common,
    )


def _tokens_per_second(reports: Sequence[Report], rate: float | None) -> dict[str, float]:
    steps = sum(window.steps for report in reports for window in report.windows)
    if not steps or rate is None:
        return {}
    totals = {
        name: sum(window.tokens.get(name, 0.0) for report in reports for window in report.windows)
        for name in ("trained", "real", "slots")
    }
    return {name: total / steps * rate for name, total in totals.items()}


def _above_roofline(line: Roofline | None) -> list[Obstacle]:
    if line is None or line.mfu is None or line.mfu <= 1.0:
        return []
    text = f"the clock or the count of operations is wrong: {line.mfu:.0%} of the chip's peak"
    return [Obstacle(word="not-comparable", text=text)]


def _impossible_baseline(baseline: Baseline | None, reports: Sequence[Report]) -> list[Obstacle]:
    if baseline is None:
        return []
    gpu = reports[0].device.name if reports and reports[0].device.type == "cuda" else None
    refused = roofline.refuse_impossible(baseline, gpu=baseline.gpu or gpu)
    if refused is None:
        return []
    return [Obstacle(word="not-comparable", text=f"the baseline is impossible: {refused.arithmetic}")]
