"""This environment against another one: fresh processes of both in turns until it is decided. No baseline is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from envdoctor.errors import Trouble
from envdoctor.facts.environment import Environment
from envdoctor.facts.model import Facts
from envdoctor.launch.trainer import Measure, runs_folder
from envdoctor.locks.target import Baseline, Target
from envdoctor.speed import roofline
from envdoctor.speed.ablation.interleaving import FEWEST_ROUNDS, Variant, plan
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
from envdoctor.speed.timing import Timing, run_variant, workload_of
from envdoctor.speed.verdict import tokens_per_second
from envdoctor.values.frozen import dataclass

LOCKED = "locked"
"""The word for an environment made from the target's lock."""
SAID: Mapping[Word, str] = {"as-expected": "as expected", "unstable": "cannot tell"}
SHORT = Measure(windows=10, probes=False)
"""Half of a run against a baseline: more processes say more than longer ones, and neighbours replace the probes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """The other arm. ``name``: as it was typed. ``lock``: digest of what it was made from, where that is known."""

    name: str
    environment: Environment
    lock: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """How two arms are timed: ``most`` pairs, each run as ``measure`` says."""

    most: int = LOOKS[-1]
    measure: Measure = field(default_factory=lambda: SHORT)


def locked_folder(stack: str, digest: str, python: str) -> Path:
    """Where the environment made from a lock is kept: in the user's state folder, by lock and Python."""
    minor = ".".join(python.split(".")[:2])
    return runs_folder().parent / LOCKED / f"{stack}-py{minor}-{digest[:16]}"


def time_against(
    environment: Environment,
    other: Other,
    target: Target,
    timing: Timing,
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
    order = plan(arms, max(pairs.most, FEWEST_ROUNDS))
    reports: dict[str, list[Report]] = {arm.name: [] for arm in arms}
    for number, arm in enumerate(order, 1):
        progress(f"pair {(number + 1) // 2} of at most {pairs.most}: {arm.name}")
        where = environment if arm is arms[0] else other.environment
        report = run_variant(where, target, workload, pairs.measure, arm, on_line=on_line)
        if report.outcome != "finished" or not report.windows:
            error = report.error or {}
            raise Trouble(
                f"the training failed: {error.get('message', report.outcome)}",
                file=where.path,
                remedy=str(error.get("remedy") or "Check that environment first: envdoctor check --env PATH"),
                exit_code=3,
            )
        reports[arm.name].append(report)
        if number % 2:
            continue
        ours, theirs = (reports[name.name] for name in arms)
        decision = decide_pairs(log_ratios(ours, theirs), most=pairs.most)
        if decision is not None and decision.word is not None:
            return judged(decision, decision.word, ours, theirs, other, target, timing, facts)
    raise AssertionError("the last look always has a word")


def judged(
    decision: Decision,
    word: Word,
    ours: Sequence[Report],
    theirs: Sequence[Report],
    other: Other,
    target: Target,
    timing: Timing,
    facts: Facts | None,
) -> Verdict:
    """The verdict of a decision: one sentence with the ratio, and what differs between the arms where one is slower."""
    run, found = run_of(ours), decision.comparison
    stack = target.choice.stack if target.choice else ""
    recorded = record(theirs, target, stack, facts=facts, lock=other.lock, command=f"against {other.name}", noisy=True)
    cause, reasons = _explained(word, ours[0], recorded, other.name)
    waited = highest_pressure([*ours, *theirs])
    if waited is not None and waited > PRESSURE_LIMIT.get(ours[0].device.type, 0.25):
        reasons.append(
            f"tasks waited for a CPU core in up to {waited:.0%} of a run: both arms had to be timed more often"
        )
    low, high = found.interval
    ratio = f"this environment is {found.ratio:.2f}x as fast as {other.name} [{low:.2f}, {high:.2f}]"
    return Verdict(
        word=word,
        workload=run.reports[0].workload or "",
        cause=cause,
        reasons=tuple(reasons),
        headline=f"{ratio}: {SAID.get(word, word)}",
        comparison=found,
        resolution=decision.resolution,
        steps_per_second=run.steps_per_second,
        tokens_per_second=tokens_per_second(run),
        roofline=roofline.of_report(run.timed[0], run.steps_per_second) if run.steps_per_second else None,
        breakdown=run.breakdown,
        reports=run.reports,
        baseline=recorded,
        evidence="measured",
        cost=cost(timing.steps, run.steps_per_second, timing.price)
        if timing.steps is not None and run.steps_per_second
        else None,
    )


def _explained(word: Word, first: Report, recorded: Baseline, name: str) -> tuple[Cause | None, list[str]]:
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
