"""Packages whose distributions bear the CUDA line in their name (spconv-cu120, cupy-cuda12x), known by their module."""

from envdoctor.knowledge.questions import installed
from envdoctor.rules.rule import Facts, Pattern

_PROJECTS = r"(?:spconv|cumm|cupy)"
_LABELLED = Pattern(rf"(?P<project>{_PROJECTS})-cu(?:da)?\d{{2,3}}x?")
_REQUIRED = Pattern(rf"(?<![\w-])(?P<project>{_PROJECTS})(?=[<>=~!]=?\d)")
NO_LINE = "-cuXXX"
"""Stands for the label where no distribution tells it; a command with it cannot be typed."""


def version(facts: Facts, project: str) -> str | None:
    """The release of the distribution that brings the project here, whichever its line."""
    return installed.version(facts, project) or installed.version(facts, _here(facts).get(project, ""))


def for_this_line(facts: Facts, text: str) -> str:
    """The text with names that an index has: without the label comes a build without CUDA, or one from source (which
    cupy's may be)."""
    here = {"cupy": "cupy", **_here(facts)}
    return _REQUIRED.sub(lambda found: here.get(found["project"], found["project"] + NO_LINE), text)


def _here(facts: Facts) -> dict[str, str]:
    """The distributions' names, by project; of one line all are, so that the others' follow from the one listed."""
    found = {match["project"]: match[0] for name in installed.versions(facts) if (match := _LABELLED.fullmatch(name))}
    one, other = found.get("spconv"), found.get("cumm")
    if one or other:
        label = (one or other or "").partition("-")[2]
        found = {"spconv": f"spconv-{label}", "cumm": f"cumm-{label}", **found}
    return found
