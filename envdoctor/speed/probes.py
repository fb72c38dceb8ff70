"""Reference probes: how fast this machine is by itself, relative to the one the baseline was measured on.

A probe (one matrix product, one memory copy, one core of Python) knows nothing of the training stack, so their ratios
divide a slower machine out of a slower run. What they may be wrong by travels along as a log-sd.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Probes = Mapping[str, float]
Kind = Literal["matmul", "memory", "host"]
Kinship = Literal["same-machine", "same-model", "other-model"]

SAME_MACHINE_SPREAD = 0.01
"""Log-sd of one machine's speed from day to day that is no fault (temperature, page placement)."""
SAME_MODEL_SPREAD = 0.04
"""Log-sd between chips of one model: 8 % apart on average, 22 % at most (Sinha et al., SC22, arXiv 2208.11035)."""
PROBE_FLOOR = 0.01
"""Least log-sd of a probe: 1 %, the residual that the rule was simulated with (tests/speed/simulation.py)."""
WEIGHT_DOUBT = 0.25
"""How wrong the shares of compute, memory and host in the machine factor may be; times the range of their ratios."""

# Shares of the three in a step when the baseline has no breakdown: a small transformer is mostly matrix products.
DEFAULT_SHARES: Mapping[Kind, float] = {"matmul": 0.65, "memory": 0.25, "host": 0.10}
# Of forward and backward, the part that is bound by memory (norms, activations, softmax), not by matrix products.
MEMORY_SHARE_OF_COMPUTE = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
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
    def said(self) -> str:
        """How fast it is, in words."""
        if "pace" in self.ratios:
            return f"while the run was timed this machine gave {self.ratios['pace']:.2f}x the pace of the baseline's"
        return f"this machine is {math.exp(self.log_factor):.2f}x the baseline's by its probes alone"


def kind_of(name: str) -> Kind | None:
    """Which part of a step a probe stands for, by its name; None for probes that no step depends on."""
    lowered = name.lower()
    if "matmul" in lowered or "gemm" in lowered:
        return "matmul"
    if "python" in lowered or "launch" in lowered:
        return "host"
    if "copy" in lowered:
        return "memory"
    return None  # transfers between host and device: a step overlaps them, the copy share of the breakdown shows them


def relevant(names: Sequence[str], precision: str) -> dict[str, Kind]:
    """The probes that a step in ``precision`` depends on: one number format's matrix product, not all."""
    short = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}.get(precision, precision)
    kinds = {name: kind for name in names if (kind := kind_of(name)) is not None}
    matmuls = [name for name, kind in kinds.items() if kind == "matmul"]
    fitting = [name for name in matmuls if short in name.lower() or precision in name.lower()] or matmuls
    return {name: kind for name, kind in kinds.items() if kind != "matmul" or name in fitting}


def flat(reference_probes: Mapping[str, Mapping[str, float | None]]) -> dict[str, float]:
    """One speed per probe: the geometric mean of before and after, where both were taken.

    Probes that are times (their names end in ``_us``) become speeds: their reciprocals, in millions per second.
    """
    speeds: dict[str, list[float]] = {}
    for moment in reference_probes.values():
        for name, value in moment.items():
            if value is not None and value > 0.0:
                speeds.setdefault(name, []).append(1.0 / value if name.endswith("_us") else value)
    return {name: statistics.geometric_mean(values) for name, values in speeds.items()}


def shares(breakdown: Mapping[str, float]) -> Mapping[Kind, float]:
    """Shares of matrix products, memory and host work in a step, from the baseline's time breakdown."""
    compute = breakdown.get("forward", 0.0) + breakdown.get("backward", 0.0)
    memory = breakdown.get("optimizer", 0.0) + breakdown.get("copy", 0.0)
    host = breakdown.get("data", 0.0) + breakdown.get("other", 0.0)
    total = compute + memory + host
    if total <= 0.0:
        return DEFAULT_SHARES
    return {
        "matmul": (1.0 - MEMORY_SHARE_OF_COMPUTE) * compute / total,
        "memory": (memory + MEMORY_SHARE_OF_COMPUTE * compute) / total,
        "host": host / total,
    }


def machine(
    runs: Sequence[Mapping[str, Mapping[str, float | None]]],
    baseline: Sequence[Probes],
    *,
    precision: str,
    kinship: Kinship,
    weights: Mapping[Kind, float] = DEFAULT_SHARES,
) -> Machine:
    """Compare the machines by their probes. ``runs``: each report's ``reference_probes``.

    On the same model of machine the factor is shrunk towards 1 as far as the probes are noisier than machines differ
    (best linear prediction): noisy probes then widen the interval instead of moving the verdict.
    """
    ours = [flat(run) for run in runs]
    names = [name for name in (baseline[0] if baseline else {}) if all(name in p for p in (*ours, *baseline))]
    kinds = relevant(names, precision)
    between = {"same-machine": SAME_MACHINE_SPREAD, "same-model": SAME_MODEL_SPREAD, "other-model": math.inf}[kinship]
    if not kinds or not runs:
        return Machine(spread=between, known=False)
    weight = _weights(kinds, weights)
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
    return Machine(
        ratios={name: math.exp(value) for name, value in log_ratios.items()},
        log_factors=tuple(trust * factor for factor in factors),
        baseline_log_factors=tuple(trust * factor for factor in theirs),
        log_factor=statistics.fmean(factors),
        spread=math.hypot(residual, doubt),
    )


def at_pace(pace: float, taken_off: float, spread: float, *, kinship: Kinship) -> Machine:
    """The machine by its pace while the run was timed, which is already taken off window by window (`pace.Paced`)."""
    between = SAME_MACHINE_SPREAD if kinship == "same-machine" else SAME_MODEL_SPREAD
    return Machine(ratios={"pace": math.exp(pace)}, log_factor=taken_off, spread=math.hypot(between, spread))


def _weights(kinds: Mapping[str, Kind], weights: Mapping[Kind, float]) -> dict[str, float]:
    """Each kind's share is split evenly among its probes; shares of kinds without a probe go to the others."""
    total = sum(weights[kind] for kind in set(kinds.values())) or 1.0
    counts = {kind: sum(1 for other in kinds.values() if other == kind) for kind in kinds.values()}
    return {name: weights[kind] / counts[kind] / total for name, kind in kinds.items()}


def drift(
    run: Mapping[str, Mapping[str, float | None]], precision: str, weights: Mapping[Kind, float] = DEFAULT_SHARES
) -> tuple[float, str]:
    """By how much (log, without sign) a step changed from before to after the run as its probes tell it, and the one
    that tells most of it.

    Each probe counts by its share of a step: an interpreter that hands out a fifth more says little of a step that is
    99 % matrix products. Changes do not cancel: faster memory does not excuse slower products.
    """
    before, after = run.get("before", {}), run.get("after", {})
    kinds = relevant([name for name, value in before.items() if value and after.get(name)], precision)
    if not kinds:
        return 0.0, ""
    weight = _weights(kinds, weights)
    parts = {name: weight[name] * abs(math.log((after[name] or 0.0) / (before[name] or 1.0))) for name in kinds}
    return sum(parts.values()), max(parts, key=lambda name: parts[name])
