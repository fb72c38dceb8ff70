"""A baseline for a chip nobody has measured yet, from the nearest one that was: labelled as derived, and wider."""

from __future__ import annotations

import math
from collections.abc import Iterable

from envdoctor.knowledge import gpus
from envdoctor.knowledge.gpus import GpuModel
from envdoctor.locks.target import Baseline
from envdoctor.speed.evidence.machine import WEIGHT_DOUBT
from envdoctor.speed.evidence.relation import TRANSFER_SPREAD, shares_of

FARTHEST = math.log(4.0)
"""Chips whose peaks differ by more than this are not derived from one another: other limits take over."""
KEPT = (
    "device", "precision", "tokens_per_step", "flops_per_step", "versions", "settings", "breakdown", "gpu_idle",
)  # fmt: skip
HOST_STAYS = 0.0  # log ratio of the host's part of a step: a faster GPU does not make Python faster


def derive(chip: GpuModel, measured: Iterable[Baseline], workload: str, stack: str) -> Baseline | None:
    """The expected baseline of ``workload`` on ``chip``; None without a measured one on a chip near enough.

    Each part of a step is scaled by what bounds it: matrix products by the ratio of the achievable (or else peak)
    speeds in the baseline's number format, memory-bound parts by the ratio of bandwidths, the host's part by nothing.
    The log-sd in ``conditions.spread`` grows with the disagreement of those ratios.
    """
    found: list[tuple[float, Baseline, GpuModel]] = []
    for baseline in measured:
        source = gpus.board(baseline.gpu or "")
        if source is None or baseline.workload != workload or baseline.evidence != "measured":
            continue
        precision = str(baseline.conditions.get("precision", "bfloat16"))
        distance = _distance(source, chip, precision)
        if distance is not None and distance <= FARTHEST:
            found.append((distance, baseline, source))
    if not found:
        return None
    _, baseline, source = min(found, key=lambda item: item[0])
    return _scale(baseline, source, chip, stack)


def _log_ratios(source: GpuModel, chip: GpuModel, precision: str) -> tuple[float, float] | None:
    ours, theirs = chip.peak_flops(precision), source.peak_flops(precision)
    if not (ours and theirs and chip.bandwidth and source.bandwidth):
        return None
    if chip.achievable and source.achievable:
        ours, theirs = ours * (chip.achievable_share() or 1.0), theirs * (source.achievable_share() or 1.0)
    return math.log(ours / theirs), math.log(chip.bandwidth / source.bandwidth)


def _distance(source: GpuModel, chip: GpuModel, precision: str) -> float | None:
    ratios = _log_ratios(source, chip, precision)
    return None if ratios is None else max(map(abs, ratios))


def _scale(baseline: Baseline, source: GpuModel, chip: GpuModel, stack: str) -> Baseline:
    precision = str(baseline.conditions.get("precision", "bfloat16"))
    ratios = _log_ratios(source, chip, precision)
    assert ratios is not None
    compute, memory = ratios
    part = shares_of(baseline)
    seconds = (
        part["matmul"] * math.exp(-compute) + part["memory"] * math.exp(-memory) + part["host"] * math.exp(-HOST_STAYS)
    )
    factor = 1.0 / seconds
    moving = [compute, memory] + ([HOST_STAYS] if part["host"] >= 0.05 else [])
    spread = math.hypot(TRANSFER_SPREAD, WEIGHT_DOUBT * (max(moving) - min(moving)))
    kept = {name: baseline.conditions[name] for name in KEPT if name in baseline.conditions}
    return Baseline(
        workload=baseline.workload,
        stack=stack,
        evidence="derived",
        lock=baseline.lock if stack == baseline.stack else None,
        gpu=chip.name,
        windows=tuple(tuple(float(f"{rate * factor:.4g}") for rate in row) for row in baseline.windows),
        conditions={**kept, "spread": float(f"{spread:.3g}"), "factor": float(f"{factor:.4g}")},
        source=(
            f"{baseline.gpu} x {factor:.2f} ({precision} compute {math.exp(compute):.2f}x, bandwidth "
            f"{math.exp(memory):.2f}x by data sheets and published matrix-product speeds)"
        ),
    )
