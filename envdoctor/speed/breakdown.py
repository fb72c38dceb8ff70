"""Where the time of a step goes: shares of wall time, and one sentence about the largest loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from envdoctor.speed.report import Window

PARTS = ("data", "copy", "forward", "backward", "optimizer", "checkpoint", "other")
DATA_WAIT_LIMIT = 0.10
"""Share of the time spent waiting for data beyond which a run is called input-bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """Seconds by part over ``seconds`` of wall time and ``steps`` steps."""

    seconds: float
    steps: int
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def known(self) -> bool:
        return self.seconds > 0.0 and sum(self.parts.values()) > 0.0

    @property
    def shares(self) -> dict[str, float]:
        """Shares of the wall time, all seven parts; what no part accounts for is "other"."""
        if not self.known:
            return dict.fromkeys(PARTS, 0.0)
        shares = {part: self.parts.get(part, 0.0) / self.seconds for part in PARTS}
        shares["other"] += max(1.0 - sum(shares.values()), 0.0)
        return shares


def of_windows(windows: Sequence[Window]) -> Breakdown:
    """The breakdown of all windows together."""
    parts = {part: sum(window.breakdown.get(part, 0.0) for window in windows) for part in PARTS}
    return Breakdown(
        seconds=sum(window.seconds for window in windows), steps=sum(window.steps for window in windows), parts=parts
    )


_SENTENCES = {
    "data": "the step waits {share:.0%} of its time for data: tokenise beforehand, or let workers prepare batches",
    "copy": "copying batches to the device takes {share:.0%} of the time: use pinned memory and non_blocking=True",
    "optimizer": "the optimizer takes {share:.0%} of the time: use its fused form, or larger batches per step",
    "checkpoint": "writing checkpoints takes {share:.0%} of the time: save less often, or in the background",
    "other": "{share:.0%} of the time goes outside the step's own work: logging, loss.item() or evaluation in the loop",
}
# Shares above which a part is named. An AdamW step over a model that sees few tokens per step may honestly take a
# third; data, copies and the rest should vanish behind the computation.
_LIMITS = {"data": DATA_WAIT_LIMIT, "copy": 0.10, "optimizer": 0.35, "checkpoint": 0.10, "other": 0.15}


def diagnose(breakdown: Breakdown) -> str:
    """One sentence: the part that takes more than its share, or that the time goes into computing."""
    if not breakdown.known:
        return "the run did not record where its time went"
    shares = breakdown.shares
    excess = {part: shares[part] / limit for part, limit in _LIMITS.items() if shares[part] > limit}
    if excess:
        worst = max(excess, key=lambda part: excess[part])
        return _SENTENCES[worst].format(share=shares[worst])
    return f"{shares['forward'] + shares['backward']:.0%} of the time is forward and backward: the computation itself"
