"""Estimate, decide, explain: from evidence to a word and a cause, where there is a baseline.

Three-valued logic: *slower* needs an effect of 3 % and an interval below 1; *as expected* at once needs an interval
that ends within the tolerance; whatever lies between asks for more fresh processes while they help. What is undecided
then is as expected as far as could be seen, and says how far that is; it is *unstable* when even half the speed could
be meant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from envdoctor.locks.target import Baseline, Target
from envdoctor.speed import statistics as speeds
from envdoctor.speed.evidence.evidence import Cause, Evidence
from envdoctor.speed.evidence.machine import MachineSpeed
from envdoctor.speed.evidence.pressure import BUSY
from envdoctor.speed.evidence.run import Context, TimedRun
from envdoctor.speed.statistics import Comparison

Word = Literal["as-expected", "faster", "slower", "unstable", "not-comparable"]

LEAST_EFFECT = 0.03
"""Log effect below which nothing is called slower or faster, however certain: nobody acts on 2 %."""
LEAST_TOLERANCE = 0.05
"""As expected means: the interval ends above 5 % slower, or wider where the baseline's own noise forbids that."""
WIDEST_TOLERANCE = {"measured": 0.20, "derived": 0.45}
"""Beyond this a run is not as expected at once: more processes may say more."""
COARSEST = 0.5
"""A slow-down that must be ruled out at least: who could miss a halving cannot call anything as expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The comparison, and how far (log) an equally fast run may seem off.

    ``doubt``: log-sd of everything that was taken off; ``log_effect``: what was taken off, which ``at_the_clock`` adds
    again; ``widest``: the tolerance beyond which nothing is as expected at once.
    """

    comparison: Comparison
    tolerance: float
    widest: float
    doubt: float
    log_effect: float

    @property
    def log_ratio(self) -> float:
        return math.log(self.comparison.ratio)

    @property
    def resolution(self) -> float:
        """The slow-down (0.2: 20 %) from which on it would have shown.

        The interval ends before it, and 9 of 10 runs that much slower would have been called so.
        """
        return max(self.comparison.detectable, 1.0 - self.comparison.interval[0])

    @property
    def resolution_at_the_clock(self) -> float:
        """The same where what was taken off cannot be trusted: neighbours disturb probes too."""
        return max(self.resolution, 1.0 - self.comparison.interval[0] * math.exp(min(self.log_effect, 0.0)))

    @property
    def at_the_clock(self) -> float:
        """Log of the run's speed over the baseline's, nothing taken off."""
        return self.log_ratio + self.log_effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The part of a verdict that evidence decides.

    ``because``: why, in plain words, for the verdict's first line. ``evidence``: what it rests on where that is
    neither a baseline nor nothing.
    """

    word: Word
    cause: Cause | None
    reasons: tuple[str, ...]
    because: str = ""
    more_processes: int = 0
    estimate: Estimate | None = None
    resolution: float | None = None
    headline: str = ""
    instead: str = ""
    evidence: str = ""


def ruling(
    baseline: Baseline, run: TimedRun, context: Context, machine: MachineSpeed, evidence: Sequence[Evidence]
) -> Ruling:
    """What a run comes to beside its baseline."""
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


def estimate(run: TimedRun, context: Context, machine: MachineSpeed, evidence: Sequence[Evidence]) -> Estimate:
    """Hold the processes against the baseline's: effects add, and so do the variances of what they may be wrong by."""
    doubt = math.sqrt(math.fsum(found.log_sd**2 for found in evidence))
    comparison = speeds.compare(
        run.processes,
        context.recorded,
        log_factors=machine.log_factors,
        baseline_log_factors=machine.baseline_log_factors,
        probe_spread=doubt,
        least=LEAST_EFFECT,
    )
    return Estimate(
        comparison=comparison,
        tolerance=speeds.tolerance(context.recorded, probe_spread=doubt, least=LEAST_TOLERANCE),
        widest=WIDEST_TOLERANCE[context.relation.evidence if context.relation else "derived"],
        doubt=doubt,
        log_effect=math.fsum(found.log_effect for found in evidence),
    )


def decide(found: Estimate, evidence: Sequence[Evidence]) -> tuple[Word | None, tuple[Evidence, ...]]:
    """The word (None: the interval allows two), and the evidence that forbade another one.

    What blocks decides before the interval does; what can only slow a run down does not unseat full speed. Full speed
    means full on the clock too, not only after the machine was taken off: a disturbed probe would otherwise excuse a
    disturbed run.
    """
    word = _of_interval(found)
    full_speed = word in ("as-expected", "faster") and found.at_the_clock > -found.tolerance
    standing = in_order([one for one in blockers(evidence) if not (full_speed and one.passing)])
    if any(one.blocks == "not-comparable" for one in standing):
        return "not-comparable", standing
    if standing:
        # What only slows down leaves an upper bound: the run is at least as fast as it seemed.
        only_slower = word is None and all(one.passing for one in standing)
        return (None if only_slower else "unstable"), standing
    slow_chip = tuple(one for one in evidence if one.blocks == "slower")
    if word == "as-expected" and slow_chip:
        return "slower", slow_chip
    return word, ()


def blockers(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Evidence that keeps a run from being judged."""
    return tuple(one for one in evidence if one.blocks in ("not-comparable", "unstable"))


def in_order(found: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Other work on the cores first: the kernel counted it, and it is what disturbs probes and windows alike."""
    return tuple(sorted(found, key=lambda one: (one.plain != BUSY, one.blocks or "")))


def _of_interval(found: Estimate) -> Word | None:
    low, high = found.comparison.interval
    if found.log_ratio < -LEAST_EFFECT and high < 1.0:
        return "slower"
    if found.log_ratio > LEAST_EFFECT and low > 1.0:
        return "faster"
    if found.tolerance <= found.widest and math.log(low) > -found.tolerance:
        return "as-expected"
    return None


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


def explain(found: Estimate, standing: Sequence[Evidence], evidence: Sequence[Evidence]) -> Evidence | None:
    """What made the run slow (or unjudgeable); None when nothing measured explains it.

    What blocks and names a cause goes first: it was seen directly. Then the suppliers' order: what a person can change,
    the machine, neighbours. What was taken off explains it only with at least half of the slow-down on the clock.
    """
    for one in standing:
        if one.cause is not None:
            return one
    for one in evidence:
        if one.cause is not None and one.blocks is None and _explains(one, found):
            return one
    return None


def _explains(one: Evidence, found: Estimate) -> bool:
    if one.log_sd == 0.0 and one.log_effect == 0.0:
        return True
    return one.log_effect < math.log(0.97) and one.log_effect < min(found.at_the_clock, 0.0) / 2.0


def _no_explanation(baseline: Baseline, target: Target | None) -> str:
    if baseline.lock is None or target is None or target.choice is None:
        return "the installed versions could not be compared with the baseline's: check them first"
    return "machine, load, versions and settings are like the baseline's: nothing measured explains it"
