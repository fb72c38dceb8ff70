"""One thing that bears on how a run compares with its baseline: what it says, takes off, widens or forbids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Cause = Literal["machine", "contention", "stack", "settings", "data"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """It blocks, it counts, it explains, or it is a remark; one piece may do several of these.

    ``blocks``: the word that stands instead of what the interval says ("slower" instead of as expected only).
    ``passing``: it can only have made the run slower, so a run at full speed stands. ``log_effect``: log speed that it
    is worth, taken off the run's; ``log_sd``: by how much that may be wrong, which widens the interval. A ``cause``
    without ``blocks`` explains a slow run; a text without either is said whatever the word. ``plain``: the same for the
    first line, without figures (default: the text).
    """

    cause: Cause | None
    text: str
    log_effect: float = 0.0
    log_sd: float = 0.0
    blocks: Literal["not-comparable", "unstable", "slower"] | None = None
    passing: bool = False
    plain: str = ""
