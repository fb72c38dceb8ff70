"""How long one step of a model takes on a target: the modelled speed, with its spread."""

from __future__ import annotations

from envdoctor.locks.target import Target
from envdoctor.models.architecture import Architecture
from envdoctor.models.memory import Job
from envdoctor.values.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """``seconds`` of one optimizer step; a real one is within a factor of exp(``log_sd``) two times in three."""

    seconds: float
    log_sd: float


def pace(shape: Architecture, job: Job, target: Target, precision: str, rung: str) -> Pace | None:
    """None where nothing is known of the chip's speed."""
    return None
