"""Which libraries a report shows: its code imports them, or its paths lead through them."""

from __future__ import annotations

from envdoctor.facts.pasted.draft import Draft
from envdoctor.facts.pasted.page import Page
from envdoctor.values.pattern import Pattern

_MODULE = Pattern(
    r"^[>\s.|\d-]{0,24}(?:from|import) (?P<used>[A-Za-z_]\w{0,60})(?=[ .,]|$)"
    r"|(?:site|dist)-packages[/\\](?P<name>[A-Za-z_]\w{0,60})(?:[/\\]|\.py)"
)


def read(page: Page, draft: Draft) -> None:
    """A remark for each: "installed" where a path leads through its folder, else "imported"."""
    matches = [found for line in page.lines for found in _MODULE.finditer(line)]
    for match in sorted(matches, key=lambda each: each["name"] is None)[:200]:
        draft.remark(f"module {match['name'] or match['used']}", "installed" if match["name"] else "imported")
