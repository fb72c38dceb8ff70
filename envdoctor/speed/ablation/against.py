"""This environment against another one: fresh processes of both in turns until it is decided. No baseline is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from envdoctor.errors import Trouble
from envdoctor.facts.environment import Environment
from envdoctor.facts.model import Facts
from envdoctor.launch.trainer import Measure, runs_folder
from envdoctor.locks.target import Baseline, Target
from envdoctor.speed import roofline
from envdoctor.speed.ablation import side_by_side
from envdoctor.speed.ablation.interleaving import FEWEST_ROUNDS, Variant
from envdoctor.speed.ablation.pairs import LOOKS, Decision, decide_pairs, log_ratios
from envdoctor.speed.baselines.recording import record
from envdoctor.speed.cost import cost
from envdoctor.speed.decision import Word
from envdoctor.speed.evidence.differences import differing_packages, differing_settings
from envdoctor.speed.evidence.evidence import Cause
from envdoctor.speed.evidence.gather import run_of
from envdoctor.speed.evidence.pressure import PRESSURE_LIMIT, highest_pressure
from envdoctor.speed.outcome import Verdict
from envdoctor.speed.report import Report
from envdoctor.speed.timing import TimingOptions, ignore_progress, run_variant, workload_of
from envdoctor.values.frozen import frozen

LOCKED = "locked"
"""The word for an environment made from the target's lock."""
BEFORE = "before"
"""The word for the state that the last fix replaced."""
SAID: Mapping[Word, str] = {"as-expected": "as expected", "unstable": "cannot tell"}
SAID_OF_A_FIX: Mapping[Word, str] = {**SAID, "as-expected": "about as before"}
SHORT = Measure(windows=10, probes=False)
"""Half of a run against a baseline: more processes say more than longer ones, and neighbours replace the probes."""


@frozen
class Other:
    """The other arm. ``name``: as it was typed. ``lock``: digest of what it was made from, where that is known.
    ``before``: it is what a fix has replaced."""

    name: str
    environment: Environment
    lock: str = ""
    before: bool = False


@frozen
class Pairs:
    """How two arms are timed: ``most`` pairs (None: what the way of timing needs), each run as ``measure`` says.

    ``side_by_side``: both at once, in turns window by window; None: on CPUs, where neighbours come and go by the
    second. A GPU is one's own, and two models may not fit on it.
    """

    most: int | None = None
    measure: Measure | None = None
    side_by_side: bool | None = None


AFTER_A_FIX = Pairs(
    most=LOOKS[0], measure=replace(side_by_side.MEASURE, windows=10, least_seconds=5.0, max_seconds=100.0)
)
"""Who asked for a repair did not ask to wait: two minutes more, and what so few pairs can tell."""


def locked_folder(stack: str, digest: str, python: str) -> Path:
    """Where the environment made from a lock is kept: in the user's state folder, by lock and Python."""
    minor = ".".join(python.split(".")[:2])
    return runs_folder().parent / LOCKED / f"{stack}-py{minor}-{digest[:16]}"


def time_against(
    environment: Environment,
    other: Other,
    target: Target,
    timing: TimingOptions,
    pairs: Pairs,
    *,
    facts: Facts | None,
    progress: Callable[[str], None],
    on_line: Callable[[str], None] | None = None,
) -> Verdict:
    """Run pairs until `decide_pairs` has a word. Raises `Trouble` (exit code 3) when a training fails."""
    workload = workload_of(target, timing.workload)
    arms = (
        Variant(name="this environment", settings=timing.settings),
        Variant(name=other.name, settings=timing.settings, environment=other.environment.path),
    )
    together = target.is_cpu if pairs.side_by_side is None else pairs.side_by_side
    looks = side_by_side.LOOKS if together else LOOKS
    most = max(pairs.most or looks[-1], FEWEST_ROUNDS)
    measure = pairs.measure or (side_by_side.MEASURE if together else SHORT)
    places = (environment, other.environment)

    def run(number: int, turns: str = "") -> Report:
        arm = arms[number]
        if turns:
            arm = replace(arm, variables={**arm.variables, side_by_side.VARIABLE: turns})
        listener = (on_line or ignore_progress) if turns else on_line
        report = run_variant(places[number], target, workload, measure, arm, on_line=listener)
        return _require_finished(report, places[number])

    ours: list[Report] = []
    theirs: list[Report] = []
    ratios: list[float] = []
    for pair in range(most):
        order = (0, 1) if pair.bit_count() % 2 == 0 else (1, 0)  # A B, B A, B A, A B: also drifts that bend cancel out
        if together:
            progress(f"pair {pair + 1} of at most {most}: {arms[0].name} and {arms[1].name} in turns")
            one, another = side_by_side.run_together(run, order)
            ratios.append(side_by_side.log_ratio(one, another, ours_first=order == (0, 1)))
        else:
            found = {}
            for number in order:
                progress(f"pair {pair + 1} of at most {most}: {arms[number].name}")
                found[number] = run(number)
            one, another = found[0], found[1]
            ratios += log_ratios([one], [another])
        ours.append(one)
        theirs.append(another)
        decision = decide_pairs(ratios, most=most, at=looks)
        if decision is not None and decision.word is not None:
            return verdict_of(decision, decision.word, ours, theirs, other, target, timing, facts)
    raise AssertionError("the last look always has a word")


def _require_finished(report: Report, where: Environment) -> Report:
    if report.outcome == "finished" and report.windows:
        return report
    error = report.error or {}
    raise Trouble(
        f"the training failed: {error.get('message', report.outcome)}",
        file=where.path,
        remedy=str(error.get("remedy") or "Check that environment first: envdoctor check --env PATH"),
        exit_code=3,
    )


def verdict_of(
    decision: Decision,
    word: Word,
    ours: Sequence[Report],
    theirs: Sequence[Report],
    other: Other,
    target: Target,
    timing: TimingOptions,
    facts: Facts | None,
) -> Verdict:
    """The verdict of a decision: one sentence with the ratio, and what differs between the arms where one is slower."""
    run, found = run_of(ours), decision.comparison
    stack = target.choice.stack if target.choice else ""
    recorded = record(theirs, target, stack, facts=facts, lock=other.lock, command=f"against {other.name}", noisy=True)
    cause, reasons = _explain(word, ours[0], recorded, other.name)
    waited = highest_pressure([*ours, *theirs])
    if waited is not None and waited > PRESSURE_LIMIT.get(ours[0].device.type, 0.25):
        reasons.append(
            f"tasks waited for a CPU core in up to {waited:.0%} of a run: both arms had to be timed more often"
        )
    low, high = found.interval
    said = f"{found.ratio:.2f}x as fast"
    what = f"fix made it {said}" if other.before else f"this environment is {said} as {other.name}"
    ratio = f"{what} [{low:.2f}, {high:.2f}]"
    words = SAID_OF_A_FIX if other.before else SAID
    return Verdict(
        word=word,
        workload=run.reports[0].workload or "",
        cause=cause,
        reasons=tuple(reasons),
        headline=f"{ratio}: {words.get(word, word)}",
        comparison=found,
        resolution=decision.resolution,
        steps_per_second=run.steps_per_second,
        tokens_per_second=run.tokens_per_second,
        roofline=roofline.of_report(run.timed[0], run.steps_per_second) if run.steps_per_second else None,
        breakdown=run.breakdown,
        reports=run.reports,
        baseline=recorded,
        evidence="measured",
        cost=cost(timing.steps, run.steps_per_second, timing.price)
        if timing.steps is not None and run.steps_per_second
        else None,
    )


def _explain(word: Word, first: Report, recorded: Baseline, name: str) -> tuple[Cause | None, list[str]]:
    """What differs between the arms: named as the cause only of a run that is slower, said in any case."""
    settings = list(differing_settings(first, recorded))
    packages = differing_packages(first, recorded, None)
    said: list[tuple[Cause, str]] = []
    if settings:
        said.append(("settings", f"set differently in {name}: {'; '.join(settings)}"))
    if packages:
        said.append(("stack", f"other versions than in {name}: {', '.join(packages)}"))
    reasons = [text for _, text in said]
    if not said:
        reasons.append(f"versions and settings that change speed are those of {name}")
    return (said[-1][0] if said and word == "slower" else None), reasons
