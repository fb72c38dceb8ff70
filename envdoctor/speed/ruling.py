"""The part of a verdict that evidence decides."""

from __future__ import annotations

from dataclasses import dataclass

from envdoctor.speed.decision import Estimate, Word
from envdoctor.speed.evidence.evidence import Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """``because``: why, in plain words, for the verdict's first line. ``evidence``: what it rests on where that is
    neither a baseline nor nothing."""

    word: Word
    cause: Cause | None
    reasons: tuple[str, ...]
    because: str = ""
    more_processes: int = 0
    estimate: Estimate | None = None
    resolution: float | None = None
    headline: str = ""
    instead: str = ""
    evidence: str = ""
