"""Reference probes: what each stands for, how much of a step it tells, and how far they moved during a run.

A probe (one matrix product, one memory copy, one core of Python) knows nothing of the training stack.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Literal

Probes = Mapping[str, float]
Kind = Literal["matmul", "memory", "host"]

PROBE_FLOOR = 0.01
"""Least log-sd of a probe: 1 %, the residual that the rule was simulated with (tests/speed/simulation.py)."""

# Shares of the three in a step when the baseline has no breakdown: a small transformer is mostly matrix products.
DEFAULT_SHARES: Mapping[Kind, float] = {"matmul": 0.65, "memory": 0.25, "host": 0.10}
# Of forward and backward, the part that is bound by memory (norms, activations, softmax), not by matrix products.
MEMORY_SHARE_OF_COMPUTE = 0.25


def kind_of(name: str) -> Kind | None:
    """Which part of a step a probe stands for, by its name; None for probes that no step depends on."""
    lowered = name.lower()
    if "median" in lowered:
        return None  # the same products as the best of them, and no second witness
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


def shares(breakdown: Mapping[str, float], gpu_idle: float | None = None) -> Mapping[Kind, float]:
    """Shares of matrix products, memory and host work in a step, from the baseline's time breakdown.

    ``gpu_idle``: share of the time in which the GPU ran nothing. Then it waited for its host, also where the parts of
    the breakdown, which are timed by events in the GPU's stream, count those gaps as forward or backward.
    """
    compute = breakdown.get("forward", 0.0) + breakdown.get("backward", 0.0)
    memory = breakdown.get("optimizer", 0.0) + breakdown.get("copy", 0.0)
    host = breakdown.get("data", 0.0) + breakdown.get("other", 0.0)
    total = compute + memory + host
    if total <= 0.0:
        return DEFAULT_SHARES
    idle = min(max(gpu_idle or 0.0, host / total), 1.0) * total
    if compute + memory > 0.0:
        left = (total - idle) / (compute + memory)
        compute, memory, host = left * compute, left * memory, idle
    return {
        "matmul": (1.0 - MEMORY_SHARE_OF_COMPUTE) * compute / total,
        "memory": (memory + MEMORY_SHARE_OF_COMPUTE * compute) / total,
        "host": host / total,
    }


def weights_of(kinds: Mapping[str, Kind], weights: Mapping[Kind, float]) -> dict[str, float]:
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
    changes = {
        name: abs(math.log(last / first)) for name, first in before.items() if first and (last := after.get(name))
    }
    kinds = relevant(list(changes), precision)
    if not kinds:
        return 0.0, ""
    weight = weights_of(kinds, weights)
    parts = {name: weight[name] * changes[name] for name in kinds}
    return sum(parts.values()), max(parts, key=lambda name: parts[name])
