"""Causes of a row's "usually" that something else in the text rules out: they are left out of what is told."""

from __future__ import annotations

import re

from envdoctor.facts.model import Facts
from envdoctor.knowledge import circumstances, versions
from envdoctor.knowledge.usual_causes import in_a_row, separate
from envdoctor.values.pattern import Pattern

_REFUTED = (
    (
        circumstances.ANSWERS,
        Pattern(r"^(?:the (?:NVIDIA )?driver is (?:not installed|missing)|no (?:NVIDIA )?driver is)\b", re.IGNORECASE),
    ),
    (
        circumstances.RESTARTED,
        Pattern(r"\bunder a running Python|\bPython was not (?:re)?started|\bwas not (?:started anew|restarted)"),
    ),
)
_OLDER = Pattern(r"\b(?:it|the package) is older than (?P<release>\d[\w.]*\w)$")


def without_refuted(usually: str, facts: Facts, version: str | None) -> str:
    """The sentence without them; ``version``: the stated release of what it speaks of. Never less than one cause."""
    parts = separate(usually)
    ruled = [pattern for circumstance, pattern in _REFUTED if circumstance.stands(facts)]
    left = [
        part
        for part in parts
        if not any(pattern.search(part) for pattern in ruled)
        and not (version and (older := _OLDER.search(part)) and versions.at_least(version, older["release"]))
    ]
    return usually if not left or len(left) == len(parts) else in_a_row(left)
