"""The causes that a sentence names one after the other: "it is A, it was B, or C"."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BETWEEN = re.compile(
    r", (?:or )?(?!which|who|whose|where|while|without|with|from|as|so|since|not|but|and|of|in|for|then|too)"
)


def separate(usually: str) -> list[str]:
    """The causes between commas, not those in brackets; a sentence that is no such list is one cause."""
    parts, start, depth = [], 0, 0
    for place, sign in enumerate(usually):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and not depth and (found := _BETWEEN.match(usually, place)):
            parts.append(usually[start:place])
            start = found.end()
    parts.append(usually[start:])
    return parts if in_a_row(parts) == usually else [usually]


def in_a_row(causes: Sequence[str]) -> str:
    """The sentence that names them one after the other; at least one."""
    return causes[0] if len(causes) == 1 else f"{', '.join(causes[:-1])}, or {causes[-1]}"
