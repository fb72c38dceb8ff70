"""What each claimed speed-up comes to here: computed, measured by ablation, or bounded by a roofline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from envdoctor.speed.ablation import Row as Measured
from envdoctor.speed.claimed import CLAIMS, Claim

__all__ = ["CLAIMS", "Claim", "Row", "evaluate", "table", "variants_to_measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A claim beside what it comes to here. ``here`` is a sentence with numbers; ``measured`` whether it was run."""

    claim: Claim
    here: str
    measured: bool = False


def table(measured: Mapping[tuple[str, str], Measured] | None = None, *, device: str = "cpu") -> tuple[Row, ...]:
    """All claims. ``measured`` holds ablation rows by (variant, against), as far as they were run on ``device``."""
    return tuple(evaluate(claim, measured or {}, device) for claim in CLAIMS)


def evaluate(claim: Claim, measured: Mapping[tuple[str, str], Measured], device: str) -> Row:
    """What one claim comes to: the measured row when there is one, else the arithmetic, else the evidence read."""
    computed = claim.computed() if claim.computed else ""
    if not claim.variants:
        return Row(claim=claim, here=computed or claim.evidence)
    if claim.only_on_gpu and device == "cpu":
        return Row(claim=claim, here="; ".join(filter(None, (computed or claim.evidence, "only a GPU can show it"))))
    variant, against = claim.variants[0], (*claim.variants, "default")[1]
    row = _contrast(measured, variant, against)
    if row is None:
        missing = f"not measured in this run: ablate {variant} against {against}"
        return Row(claim=claim, here="; ".join(filter(None, (computed, missing))))
    ratio, (low, high) = row
    here = f"{variant} is {ratio:.2f}x {against} [{low:.2f}, {high:.2f}] in trained tokens per second"
    return Row(claim=claim, here="; ".join(filter(None, (here, computed))), measured=True)


def _contrast(
    measured: Mapping[tuple[str, str], Measured], variant: str, against: str
) -> tuple[float, tuple[float, float]] | None:
    """Ratio and interval of two variants: their own row, or both of their rows against the default.

    The rows of one ablation share their noise, so any two of its variants differ with the same width of interval.
    """
    row = measured.get((variant, against))
    if row is not None and row.ratio is not None and row.interval is not None:
        return row.ratio, row.interval
    first, second = measured.get((variant, "default")), measured.get((against, "default"))
    if first is None or second is None or not first.ratio or not second.ratio or first.interval is None:
        return None
    ratio = first.ratio / second.ratio
    return ratio, (ratio * first.interval[0] / first.ratio, ratio * first.interval[1] / first.ratio)


def variants_to_measure(device: str = "cpu") -> tuple[str, ...]:
    """Names of the variants that the claims ask for on this kind of device, in order, without repeats."""
    names = (
        name
        for claim in CLAIMS
        for name in claim.variants
        if name != "environment" and not (claim.only_on_gpu and device == "cpu")
    )
    return tuple(dict.fromkeys(names))
