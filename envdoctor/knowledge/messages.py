"""Looking for known words in the error lines that a report carries."""

from __future__ import annotations

import re

from envdoctor.facts import Facts
from envdoctor.pattern import Pattern


def said(facts: Facts, *phrases: str) -> str | None:
    """The first message that holds one of the phrases (lower case), as it stands in the report."""
    for line in facts.messages:
        lower = line.lower()
        if any(phrase in lower for phrase in phrases):
            return line
    return None


def matched(facts: Facts, *patterns: Pattern) -> re.Match[str] | None:
    """The first match of one of the patterns in a message."""
    for line in facts.messages:
        for pattern in patterns:
            if match := pattern.search(line):
                return match
    return None
