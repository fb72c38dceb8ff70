"""What a chip can do at most, what a workload needs, and what follows: MFU, a limit in steps per second, refusals.

The formula that counts is the trainer's own (report ``model.formula``): no recomputation, causal attention, frozen
weights without their gradient, the output head included, the embedding look-up excluded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from envdoctor.knowledge import gpus
from envdoctor.locks.target import Baseline
from envdoctor.speed.evidence.probes import flat, relevant
from envdoctor.speed.report import Report


def flops(
    *,
    weights: float,
    tokens: float,
    head: float = 0.0,
    trained_tokens: float | None = None,
    layers: int = 0,
    attention_width: int = 0,
    squares: float = 0.0,
    frozen: bool = False,
    adapters: float = 0.0,
) -> float:
    """FLOPs of one optimizer step, forward and backward.

    ``weights``: of all layers' matrices; with ``frozen`` (LoRA) they cost 4 instead of 6 per token, since they need no
    gradient of their own, and the ``adapters`` cost 6. ``head``: weights of the output head, at ``trained_tokens``
    positions (all ``tokens`` if not given). ``squares``: sum of squared document lengths; causal attention costs
    6 x layers x width x squares.
    """
    head_tokens = tokens if trained_tokens is None else trained_tokens
    per_weight = 4.0 if frozen else 6.0
    return (
        (per_weight * weights + 6.0 * adapters) * tokens
        + per_weight * head * head_tokens
        + 6.0 * layers * attention_width * squares
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    """``peak`` and ``achievable`` in FLOP/s (None: unknown), the source of the latter, and the shares reached."""

    peak: float | None
    achievable: float | None
    source: str
    mfu: float | None = None
    of_achievable: float | None = None
    limit: float | None = (
        None  # steps per second at the peak, or at the achievable speed of a chip without a known peak
    )
    bandwidth: float | None = None  # bytes/s of memory: the data sheet's, else what the copy probe reached


def precision_of(report: Report) -> str:
    """The number format whose peak applies: float32 matrix products run in TF32 where the run's flags allow it."""
    allowed = report.flags.get("float32-matmul-precision") in ("high", "medium")
    return "tf32" if report.precision == "float32" and report.device.type == "cuda" and allowed else report.precision


def of_report(report: Report, steps_per_second: float) -> Roofline:
    """Compare a measured speed with the chip's peak and with the matrix product probed in the same run."""
    precision = precision_of(report)
    chip = gpus.board(report.device.name) if report.device.type == "cuda" else None
    peak = chip.peak_flops(precision) if chip else None
    probed = probed_matmul(report, precision)
    if probed:
        achievable, source = probed, "the matrix product probed in the same run"
    elif chip and peak and chip.achievable_share():
        achievable, source = peak * (chip.achievable_share() or 1.0), chip.achievable_source
    else:
        achievable, source = None, "no figure of this GPU is known and no probe was timed"
    copied = flat(report.reference_probes).get("copy_gbs")
    rated = chip.bandwidth if chip else None
    bandwidth = rated * 1e9 if rated else (copied * 1e9 if copied else None)
    work = report.model.flops_per_step
    if not work:
        return Roofline(peak=peak, achievable=achievable, source=source, bandwidth=bandwidth)
    ceiling = peak or achievable
    return Roofline(
        peak=peak,
        achievable=achievable,
        source=source,
        mfu=work * steps_per_second / peak if peak else None,
        of_achievable=work * steps_per_second / achievable if achievable else None,
        limit=ceiling / work if ceiling else None,
        bandwidth=bandwidth,
    )


def probed_matmul(report: Report, precision: str) -> float | None:
    """FLOP/s of the probed matrix product in this format (probes are in GFLOP/s), or None."""
    speeds = flat(report.reference_probes)
    matmuls = [name for name, kind in relevant(list(speeds), precision).items() if kind == "matmul"]
    short = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}.get(precision, precision)
    fitting = [speeds[name] for name in matmuls if short in name]
    return max(fitting) * 1e9 if fitting else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Impossible:
    """A speed that no such chip can have, with the arithmetic."""

    claimed: float  # steps per second
    limit: float
    arithmetic: str


def declared_work(conditions: Mapping[str, object]) -> tuple[float, str] | None:
    """FLOPs per step that a baseline's conditions tell, and how; None when they do not tell enough.

    Either ``flops_per_step``, or ``parameters`` and ``tokens_per_step`` (6 per weight and token, 4 when ``frozen``).
    """
    known = conditions.get("flops_per_step")
    if isinstance(known, (int, float)) and known > 0:
        return float(known), f"{known:.3g} FLOP per step"
    parameters, tokens = conditions.get("parameters"), conditions.get("tokens_per_step")
    if isinstance(parameters, (int, float)) and isinstance(tokens, (int, float)) and parameters > 0 and tokens > 0:
        frozen = bool(conditions.get("frozen"))
        work = flops(weights=parameters, tokens=tokens, frozen=frozen)
        factor = 4 if frozen else 6
        return work, f"{factor} x {parameters:.3g} weights x {tokens:,.0f} tokens = {work:.3g} FLOP per step"
    return None


def refuse_impossible(baseline: Baseline, *, gpu: str | None = None) -> Impossible | None:
    """A baseline above the roofline is refused, with the arithmetic; None when it is possible or cannot be judged.

    ``gpu`` defaults to the baseline's own.
    """
    speeds = [rate for row in baseline.windows for rate in row]
    claimed = max(speeds) if speeds else baseline.steps_per_second
    work = declared_work(baseline.conditions)
    chip = gpus.board(gpu or baseline.gpu or "")
    form = str(baseline.conditions.get("precision", "bfloat16"))
    peak = chip.ceiling(form) if chip else None
    if claimed is None or work is None or chip is None or not peak:
        return None
    flops_per_step, how = work
    if flops_per_step * claimed <= peak:
        return None
    return Impossible(
        claimed=claimed,
        limit=peak / flops_per_step,
        arithmetic=(
            f"{how}; x {claimed:g} steps per second = {flops_per_step * claimed:.3g} FLOP/s, "
            f"{flops_per_step * claimed / peak:.0%} of the {form} peak of {chip.name} ({peak:.4g}); "
            f"the limit is {peak / flops_per_step:.2f} steps per second"
        ),
    )
