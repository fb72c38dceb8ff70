"""Errors of which a text holds the line of source that raises them, in several strings, and not what Python printed."""

from __future__ import annotations

import re

from envdoctor.facts.pasted.draft import Draft
from envdoctor.facts.pasted.page import Page
from envdoctor.values.pattern import Pattern

_STRING = r"(?:\"[^\"{}]{1,200}\"|'[^'{}]{1,200}')"
_RAISED = Pattern(
    rf"\s*raise (?P<error>[\w.]{{1,80}}(?:Error|Exception))\((?P<text>{_STRING}(?: {_STRING}){{1,6}})\)\s*"
)


def read(page: Page, draft: Draft) -> None:
    """What the last such line would have printed, where no line of the text is an error's."""
    if any(re.match(r"[\w.]{1,80}(?:Error|Exception)\b", message) for message in draft.messages):
        return
    found = next((match for line in reversed(page.lines) if (match := _RAISED.fullmatch(line))), None)
    if found is not None:
        said = "".join(part[1:-1] for part in re.findall(_STRING, found["text"]))
        draft.message(f"{found['error']}: {said}")
