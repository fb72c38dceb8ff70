"""How fast this machine is by itself, relative to the one the baseline was measured on.

The ratios of the reference probes divide a slower machine out of a slower run; what they may be wrong by travels along
as a log-sd.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from envdoctor.speed.evidence.probes import DEFAULT_SHARES, PROBE_FLOOR, Kind, Probes, drift, flat, relevant, weights_of
from envdoctor.speed.evidence.relation import MachineMatch

SAME_MACHINE_SPREAD = 0.01
"""Log-sd of one machine's speed from day to day that is no fault (temperature, page placement)."""
SAME_MODEL_SPREAD = 0.04
"""Log-sd between chips of one model: 8 % apart on average, 22 % at most (Sinha et al., SC22, arXiv 2208.11035)."""
WEIGHT_DOUBT = 0.25
"""How wrong the shares of compute, memory and host in the machine factor may be; times the range of their ratios."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSpeed:
    """How fast the run's machine is relative to the baseline's. ``ratios``: per probe, 0.9 is a tenth slower.

    ``log_factors``: per run, to take off its log rate; ``baseline_log_factors``: the same for the baseline's processes.
    ``spread``: log-sd by which the factor may be wrong. ``known`` is False without common probes.
    """

    ratios: Mapping[str, float] = field(default_factory=dict)
    log_factors: tuple[float, ...] = ()
    baseline_log_factors: tuple[float, ...] = ()
    log_factor: float = 0.0  # before any shrinking: what the probes say
    spread: float
    known: bool = True

    @property
    def sentence(self) -> str:
        """How fast it is, in words."""
        if "pace" in self.ratios:
            return f"while the run was timed this machine gave {self.ratios['pace']:.2f}x the pace of the baseline's"
        return f"this machine is {math.exp(self.log_factor):.2f}x the baseline's by its probes alone"


def by_probes(
    runs: Sequence[Mapping[str, Mapping[str, float | None]]],
    baseline: Sequence[Probes],
    *,
    precision: str,
    match: MachineMatch,
    weights: Mapping[Kind, float] = DEFAULT_SHARES,
) -> MachineSpeed:
    """Compare the machines by their probes. ``runs``: each report's ``reference_probes``.

    On the same model of machine the factor is shrunk towards 1 as far as the probes are noisier than machines differ
    (best linear prediction): noisy probes then widen the interval instead of moving the verdict.
    """
    ours = [flat(run) for run in runs]
    names = [name for name in (baseline[0] if baseline else {}) if all(name in p for p in (*ours, *baseline))]
    kinds = relevant(names, precision)
    between = {"same-machine": SAME_MACHINE_SPREAD, "same-model": SAME_MODEL_SPREAD, "other-model": math.inf}[match]
    if not kinds or not runs:
        return MachineSpeed(spread=between, known=False)
    weight = weights_of(kinds, weights)
    centre = {name: statistics.fmean(math.log(p[name]) for p in baseline) for name in kinds}
    log_ratios = {name: statistics.fmean(math.log(p[name]) for p in ours) - centre[name] for name in kinds}
    theirs = [sum(weight[name] * (math.log(p[name]) - centre[name]) for name in kinds) for p in baseline]
    factors = [sum(weight[name] * (math.log(p[name]) - centre[name]) for name in kinds) for p in ours]
    moved = max(drift(run, precision, weights)[0] for run in runs)
    noise = max(PROBE_FLOOR, statistics.stdev(theirs) if len(theirs) > 1 else 0.0, moved / 4.0)
    if math.isinf(between):
        trust, residual = 1.0, noise
    else:
        trust = between**2 / (between**2 + noise**2)
        residual = math.sqrt(trust) * noise
    counting = [log_ratios[name] for name in kinds if weight[name] >= 0.05]
    doubt = WEIGHT_DOUBT * (max(counting) - min(counting))
    return MachineSpeed(
        ratios={name: math.exp(value) for name, value in log_ratios.items()},
        log_factors=tuple(trust * factor for factor in factors),
        baseline_log_factors=tuple(trust * factor for factor in theirs),
        log_factor=statistics.fmean(factors),
        spread=math.hypot(residual, doubt),
    )


def at_pace(pace: float, log_effect: float, spread: float, *, match: MachineMatch) -> MachineSpeed:
    """The machine by its pace while the run was timed, already taken off window by window (`pace_model.AtOnePace`)."""
    between = SAME_MACHINE_SPREAD if match == "same-machine" else SAME_MODEL_SPREAD
    return MachineSpeed(ratios={"pace": math.exp(pace)}, log_factor=log_effect, spread=math.hypot(between, spread))
