"""Losses and gradient norms of every step, left on the device and read late, so that the host never waits for a step
in flight.
"""

from __future__ import annotations

import math
from typing import Any

from trainer.errors import TrainerError

FIRST, LATEST = 8, 8  # losses whose means are compared: those of the first steps, and of the latest
TIMES, MORE = (
    2.0,
    1.0,
)  # a loss above so many times that of the first steps, and so much above it, comes from divergence


class History:
    """Append a step's device scalars; `read` fetches those of the steps before a given one and watches for
    non-finite ones, and, where `stop_diverging` is on, for a loss that has left where it began.
    """

    def __init__(self, max_bad_steps: int, stop_diverging: bool = False) -> None:
        self.losses: list[float] = []
        self.norms: list[float] = []
        self.skipped: list[int] = []
        self.steps_done = 0  # optimizer steps up to the one that `last_loss` belongs to
        self._pending: list[tuple[int, Any, Any, Any]] = []
        self._bad_in_a_row = 0
        self._max_bad, self._stop_diverging = max_bad_steps, stop_diverging

    def add(self, step: int, loss: Any, norm: Any, bad: Any) -> None:
        """Of step `step` (from 0), unread. bad: 1.0 where it was skipped, something between where that only searched
        for float16's loss scale (`trainer.compute.optimizer`).
        """
        self._pending.append((step, loss, norm, bad))

    def read(self, before: int | None = None) -> None:
        """Fetch every pending step (or those below `before`). TrainerError after too many skipped steps in a row, or
        when the loss diverges.
        """
        while self._pending and (before is None or self._pending[0][0] < before):
            step, loss, norm, bad = self._pending.pop(0)
            self.losses.append(float(loss))
            self.norms.append(float(norm))
            self.steps_done = step + 1
            skipped = float(bad)
            self._bad_in_a_row = self._bad_in_a_row + int(skipped) if skipped else 0
            if skipped:
                self.skipped.append(step)
            if self._bad_in_a_row >= self._max_bad:
                raise TrainerError(
                    "non-finite-gradient",
                    f"the gradient was not finite in {self._bad_in_a_row} steps in a row, up to step {step + 1}; "
                    "none of them changed the weights",
                    "Lower learning_rate or clip_norm, or train with precision=float32.",
                )
            if self._stop_diverging:
                self._watch_divergence(step + 1)

    def _watch_divergence(self, step: int) -> None:
        if len(self.losses) < FIRST + LATEST:
            return
        latest = sum(self.losses[-LATEST:]) / LATEST
        # The very first loss bounds it: of a run that diverges at once, the first steps are no measure.
        first = min(sum(self.losses[:FIRST]) / FIRST, 1.5 * (self.losses[0] + MORE))
        if latest > TIMES * first and latest > first + MORE:
            raise TrainerError(
                "diverging",
                f"the loss has grown from {self.losses[0]:.3g} to {latest:.3g} (mean of {LATEST} steps) by step "
                f"{step}: the training diverges",
                "Lower learning_rate, by 3 to 10 times, or raise warmup_steps, and start over with --resume never; "
                "stop_diverging=false trains on.",
            )

    @property
    def last_loss(self) -> float | None:
        """The newest loss read so far, None before the first."""
        return self.losses[-1] if self.losses else None


def finite(values: list[float]) -> list[float | None]:
    """For JSON, which knows no NaN: None where a value is not finite."""
    return [value if math.isfinite(value) else None for value in values]
