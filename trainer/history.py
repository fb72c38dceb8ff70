"""Losses and gradient norms of every step, left on the device and read late, so that the host never waits for a step
in flight.
"""

from __future__ import annotations

import math
from typing import Any, List, Optional, Tuple

from trainer.errors import TrainerError


class History:
    """Append a step's device scalars; `read` fetches those of the steps before a given one and watches for
    non-finite ones.
    """

    def __init__(self, max_bad_steps: int) -> None:
        self.losses: List[float] = []
        self.norms: List[float] = []
        self.skipped: List[int] = []
        self._pending: List[Tuple[int, Any, Any, Any]] = []
        self._bad_in_a_row = 0
        self._max_bad = max_bad_steps

    def add(self, step: int, loss: Any, norm: Any, bad: Any) -> None:
        self._pending.append((step, loss, norm, bad))

    def read(self, before: Optional[int] = None) -> None:
        """Fetch every pending step (or those below `before`). TrainerError after too many skipped steps in a row."""
        while self._pending and (before is None or self._pending[0][0] < before):
            step, loss, norm, bad = self._pending.pop(0)
            self.losses.append(float(loss))
            self.norms.append(float(norm))
            self._bad_in_a_row = self._bad_in_a_row + 1 if float(bad) else 0
            if float(bad):
                self.skipped.append(step)
            if self._bad_in_a_row >= self._max_bad:
                raise TrainerError(
                    "non-finite-gradient",
                    "the gradient was not finite in %d steps in a row, up to step %d; none of them changed the weights"
                    % (self._bad_in_a_row, step + 1),
                    "Lower learning_rate or clip_norm, or train with precision=float32.",
                )

    @property
    def last_loss(self) -> Optional[float]:
        """The newest loss read so far, None before the first."""
        return self.losses[-1] if self.losses else None


def finite(values: List[float]) -> List[Optional[float]]:
    """For JSON, which knows no NaN: None where a value is not finite."""
    return [value if math.isfinite(value) else None for value in values]
