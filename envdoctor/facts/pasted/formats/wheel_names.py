"""Names of wheels in a report, and which of them were refused: what a refused one is for, this Python is not."""

from __future__ import annotations

import re

from envdoctor.facts.pasted.page import Page
from envdoctor.values.pattern import Pattern

_NAME = Pattern(r"(?<![\w.+-])[A-Za-z0-9][\w.]{0,80}-[\w.+!%]{1,60}-[\w.+%-]{1,160}\.whl")
_REFUSED = Pattern(
    r"not a supported wheel|not a valid wheel|not compatible with (?:this|the current|your)|no compatible tag|wheel tag"
    r"|\bis incompatible\b|incompatible (?:with|wheel)|unsupported wheel|Wheel .{0,200}is not supported",
    re.IGNORECASE,
)


def refusals(page: Page) -> frozenset[str]:
    """The wheels that an installer says that it does not take."""
    lines = (line for line in page.lines if ".whl" in line and _REFUSED.search(line))
    return frozenset(name[0] for line in lines for name in _NAME.finditer(line))


def is_refused(line: str, names: frozenset[str]) -> bool:
    return any(name in line for name in names)
