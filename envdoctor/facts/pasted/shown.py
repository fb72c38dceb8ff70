"""Which libraries a report shows: its code imports them, or its paths lead through them."""

from __future__ import annotations

from envdoctor.facts.pasted.draft import Draft
from envdoctor.facts.pasted.page import Page
from envdoctor.knowledge import names
from envdoctor.values.pattern import Pattern

_MODULE = Pattern(
    r"^[>\s.|\d-]{0,24}(?:from|import) (?P<used>[A-Za-z_]\w{0,60})(?=[ .,]|$)"
    r"|(?:site|dist)-packages[/\\](?P<name>[A-Za-z_]\w{0,60})(?:[/\\]|\.py)"
)


_IMPORT = Pattern(
    r"^[>\s.|\d-]{0,24}from (?P<module>[A-Za-z_]\w{0,40}(?:\.\w{1,40}){0,6}) import \(?(?P<names>[\w, ]{1,200})"
)


def read(page: Page, draft: Draft) -> None:
    """A remark for each: "installed" where a path leads through its folder, else "imported"; and what its code imports
    of them that later releases dropped."""
    imports = [found for line in page.lines if (found := _IMPORT.match(line))]
    for found in imports[:50]:
        if (gone := _gone(found["module"], found["names"])) is not None:
            draft.remark(
                f"import that {gone.package} {gone.release} dropped", f"{found['module']}.{gone.name}".strip(".")
            )
    matches = [found for line in page.lines for found in _MODULE.finditer(line)]
    for match in sorted(matches, key=lambda each: each["name"] is None)[:200]:
        draft.remark(f"module {match['name'] or match['used']}", "installed" if match["name"] else "imported")


def _gone(module: str, listed: str) -> names.Name | None:
    """What an import asks for that has gone since."""
    asked = [part.split()[0] for part in listed.split(",") if part.strip()]
    rows = (row for row in (*names.of_module(module), *(row for word in asked for row in names.of_name(module, word))))
    return next((row for row in rows if row.direction == "removed"), None)
