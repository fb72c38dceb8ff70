"""Names of wheels in a report, and which of them are not installed: refused ones, and those that somebody asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from envdoctor.facts.pasted.page import Page
from envdoctor.values.pattern import Pattern

_NAME = Pattern(r"(?<![\w.+-])[A-Za-z0-9][\w.]{0,80}-[\w.+!%]{1,60}-[\w.+%-]{1,160}\.whl")
_REFUSED = Pattern(
    r"not a supported wheel|not a valid wheel|not compatible with (?:this|the current|your)|no compatible tag|wheel tag"
    r"|\bis incompatible\b|incompatible (?:with|wheel)|unsupported wheel|Wheel .{0,200}is not supported",
    re.IGNORECASE,
)


_ASKED = Pattern(
    r"\?|\b(?:where|which|whether|should|could|can i|need|looking for|read-?me|available|offers?|provides?|recommends?"
    r"|instead of|there (?:is|are)|releases page|only (?:has|have))\b",
    re.IGNORECASE,
)
_INSTALLS = Pattern(r"\binstall(?:ed|ing)?\b|^\s*(?:Downloading|Using cached|Processing|Successfully|Collecting)\b")


def refusals(page: Page) -> frozenset[str]:
    """The wheels that an installer says that it does not take, and those that a person asks for, while no line installs
    them."""
    lines = [line for line in page.lines if ".whl" in line]
    refused = _names(line for line in lines if _REFUSED.search(line))
    asked = _names(line for line in lines if _ASKED.search(line) and not _INSTALLS.search(line))
    return refused | (asked - _names(line for line in lines if _INSTALLS.search(line)))


def _names(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(name[0] for line in lines for name in _NAME.finditer(line))


def is_refused(line: str, names: frozenset[str]) -> bool:
    return any(name in line for name in names)
