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


_CHECKED_OUT = Pattern(r'File "[^"]{1,200}[/\\](?P<name>sglang|vllm|deepspeed|megatron|verl)[/\\][\w/\\]{1,120}\.py"')
"""Of what many run from a checkout of its sources."""
_NO_CLASS = Pattern(r"(?<![\w.])__init__\(\) got an unexpected keyword argument")
_LOADED = Pattern(r"Requested to load (?P<name>[A-Za-z]\w{1,60})$")
"""The parts of a pipeline that ComfyUI brings to the GPU, in their order."""
_CLASS = Pattern(r"\b[A-Z][a-z]\w{3,60}\b")
_WORD = Pattern(r"[A-Za-z][A-Za-z_-]{2,40}")
_IMPORT = Pattern(
    r"^[>\s.|\d-]{0,24}from (?P<module>[A-Za-z_]\w{0,40}(?:\.\w{1,40}){0,6}) import \(?(?P<names>[\w, ]{1,200})"
)


def read(page: Page, draft: Draft) -> None:
    """A remark for each: "installed" where a path leads through its folder, else "imported"; and what its code imports
    of them that later releases dropped."""
    imports = [found for line in page.lines if (found := _IMPORT.match(line))]
    for found in imports[:50]:
        if (gone := _removed_name(found["module"], found["names"])) is not None:
            draft.remark(
                f"import that {gone.package} {gone.release} dropped", f"{found['module']}.{gone.name}".strip(".")
            )
    if any(map(_NO_CLASS.search, page.lines)):
        _name_libraries(page, draft)
    loaded = [found["name"] for line in page.lines if (found := _LOADED.match(line.strip()))]
    if len(set(loaded)) > 1:
        draft.remark("loaded in turn", ", then ".join(dict.fromkeys(loaded)))
    for line in page.lines:
        if checked_out := _CHECKED_OUT.search(line):
            draft.remark(f"module {checked_out['name']}", "in a source tree")
    matches = [found for line in page.lines for found in _MODULE.finditer(line)]
    for match in sorted(matches, key=lambda each: each["name"] is None)[:200]:
        draft.remark(f"module {match['name'] or match['used']}", "installed" if match["name"] else "imported")


def _name_libraries(page: Page, draft: Draft) -> None:
    """The libraries that the words of a report name, where an error of it leaves out the class."""
    words = {found[0].lower().replace("_", "-") for line in page.lines for found in _WORD.finditer(line[:2_000])}
    classes = {found[0] for line in page.lines for found in _CLASS.finditer(line[:2_000])}
    at_home = {home for each in classes if (home := names.home_of(each))}
    for package in names.libraries_read():
        if package in at_home or words & set(names.shown_as(package)):
            draft.remark(f"library named {package}", package)


def _removed_name(module: str, listed: str) -> names.Name | None:
    """What an import asks for that has gone since."""
    asked = [part.split()[0] for part in listed.split(",") if part.strip()]
    rows = (row for row in (*names.of_module(module), *(row for word in asked for row in names.of_name(module, word))))
    return next((row for row in rows if row.direction == "removed"), None)
