"""What each claimed speed-up comes to here: computed, measured by ablation, or bounded by a roofline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from envdoctor.speed.ablation.ablation import VariantRow as Measured

from tests.benchmarks.claims import experiments
from tests.benchmarks.claims.claimed import CLAIMS, WRITE_UPS, Claim

Status = Literal["measured", "computed", "needs-gpu", "not-measured"]
NEEDS_GPU = "needs a GPU, not measured here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A claim beside what it comes to here. ``here`` is a sentence with numbers.

    ``status``: timed or counted here; computed from the claim's own figures; out of reach without a GPU, and then
    bounded by arithmetic where that is possible; or simply not measured yet.
    """

    claim: Claim
    here: str
    status: Status = "computed"

    @property
    def measured(self) -> bool:
        return self.status == "measured"


def table(
    measured: Mapping[tuple[str, str], Measured] | None = None,
    *,
    device: str = "cpu",
    found: Mapping[str, Any] | None = None,
) -> tuple[Answer, ...]:
    """All claims. ``measured`` holds ablation rows by (variant, against), as far as they were run on ``device``;
    ``found`` the numbers of the experiments, if they were made.
    """
    return tuple(evaluate(claim, measured or {}, device, found or {}) for claim in CLAIMS)


def evaluate(
    claim: Claim, measured: Mapping[tuple[str, str], Measured], device: str, found: Mapping[str, Any] = {}
) -> Answer:
    """What one claim comes to: what was timed or counted, else the arithmetic, else what is missing."""
    said = list(filter(None, (_timed(claim, measured, device), experiments.answer(claim.number, found))))
    if said:
        return Answer(claim=claim, here="; ".join(said), status="measured")
    bound = claim.computed() if claim.computed else ""
    if device == "cpu" and (claim.only_on_gpu or claim.kind == "needs-gpu"):
        return Answer(claim=claim, here=f"{NEEDS_GPU}; {bound or claim.evidence}", status="needs-gpu")
    if bound and not claim.variants:
        return Answer(claim=claim, here=bound)
    what = _command(claim)
    return Answer(claim=claim, here="; ".join(filter(None, (bound, f"not measured: {what}"))), status="not-measured")


def _timed(claim: Claim, measured: Mapping[tuple[str, str], Measured], device: str) -> str | None:
    if not claim.variants or (claim.only_on_gpu and device == "cpu"):
        return None
    variant, against = claim.variants[0], (*claim.variants, "default")[1]
    if variant == "environment":
        variant, against = next(
            (names for names, row in measured.items() if row.variant.environment and names[0] != names[1]),
            (variant, against),
        )
    row = _contrast(measured, variant, against)
    if row is None:
        return None
    ratio, (low, high) = row
    return f"{variant} is {ratio:.2f}x {against} [{low:.2f}, {high:.2f}] in trained tokens per second"


def _command(claim: Claim) -> str:
    if not claim.variants:
        return "python -m tests.benchmarks.claims --measure"
    if "environment" in claim.variants:
        return "ablate --envs OLD NEW"
    return f"ablate {claim.variants[0]} against {(*claim.variants, 'default')[1]}"


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


def document(rows: Sequence[Answer], conditions: Mapping[str, Any]) -> dict[str, Any]:
    """What `envdoctor ablate --claims` prints: the answers, where they were measured, and the write-ups' names."""
    return {
        "schema": 1,
        "conditions": {**conditions, "command": "python -m tests.benchmarks.claims --measure"},
        "write_ups": WRITE_UPS,
        "claims": [
            {
                "number": row.claim.number,
                "claim": row.claim.claim,
                "write_ups": list(row.claim.writeups),
                "finding": row.claim.finding,
                "status": row.status,
                "here": row.here,
                "evidence": row.claim.evidence,
                "source": row.claim.source,
            }
            for row in rows
        ],
    }
