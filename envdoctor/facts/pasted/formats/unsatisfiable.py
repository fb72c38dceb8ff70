"""The list below conda's UnsatisfiableError: which of the packages that were asked for excludes another one of them.

- cudatoolkit 10.1*                                          cudatoolkit=10.1
- pytorch 1.0.1* -> cudatoolkit >=10.0.130,<10.1.0a0         pytorch==1.0.1 -> cudatoolkit[version='>=10.0,<10.1']
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from envdoctor.facts.pasted.page import Page
from envdoctor.values.pattern import Pattern

_HEAD = Pattern(r"UnsatisfiableError|found to be (?:in conflict|incompatible)|Package \S{1,60} conflicts for:")
_NAME = r"[A-Za-z_][\w.-]{0,60}"
_SPEC = rf"(?P<name>{_NAME})(?: |={{1,2}})(?P<release>\d[\d.]{{0,20}})(?:\.?\*)?(?:[ =]\S{{1,60}})?"
_ASKED = Pattern(rf"(?:[-*] )?{_SPEC}")
_NEEDS = Pattern(
    rf"(?:[-*] )?{_SPEC} -> (?:\S{{1,80}}(?: \S{{1,60}})? -> ){{0,2}}(?P<other>{_NAME})"
    r"(?:\[version=(?P<quote>['\"]?)(?P<listed>[^'\"\]]{1,300})(?P=quote)\]| ?(?P<range>[<>=!\d][\w.,<>=!*|]{0,120}))"
)
_COMMAND = Pattern(r"\b(?:conda|mamba|micromamba) (?:install|create)\b(?P<what>.{1,400})")
_PIN = Pattern(rf"(?<=[\s'\"])(?P<name>{_NAME})={{1,2}}(?P<release>\d[\d.]{{0,20}})(?:\.?\*)?(?=[\s'\"]|$)")


def read_conflict(page: Page) -> str:
    """The conflict as one sentence; "" where the text shows none, or the two that it shows go together."""
    lines = [text for _, text in page.left()]
    if not any(map(_HEAD.search, lines)):
        return ""
    asked = dict(_requests(lines))
    for text in lines:
        found = _NEEDS.fullmatch(text.rstrip(" ,;"))
        if found is None:
            continue
        other, wanted = found["other"], found["listed"] or found["range"]
        release = asked.get(other)
        if release and other != found["name"] and not _go_together(release, wanted):
            return (
                f"the solver's conflict: {found['name']} {found['release'].rstrip('.')} requires {other} "
                f"{'|'.join(wanted.split('|')[:4])}, and {other} {release} is asked for"
            )
    return ""


def _requests(lines: list[str]) -> Iterator[tuple[str, str]]:
    for text in lines:
        for command in _COMMAND.finditer(text):
            yield from ((pin["name"], pin["release"].rstrip(".")) for pin in _PIN.finditer(command["what"]))
    for text in lines:
        if (one := _ASKED.fullmatch(text)) is not None:
            yield one["name"], one["release"].rstrip(".")


def _go_together(release: str, wanted: str) -> bool:
    """May any version of this release be one of those that are wanted? Yes where it cannot be told."""
    for part in wanted.split("|"):
        text = ",".join(_plain(clause) for clause in part.split(",") if clause)
        try:
            within = SpecifierSet(text, prereleases=True)
        except InvalidSpecifier:
            return True
        if any(f"{release}{rest}" in within for rest in ("", ".0", ".1", ".100", ".300", ".1000")):
            return True
    return False


def _plain(clause: str) -> str:
    """A clause of conda's as PEP 440 has it: "10.0.*", "=10.0" and "10.0" are "==10.0.*"."""
    clause = clause.strip()
    if clause[:1].isdigit() or (clause.startswith("=") and not clause.startswith("==")):
        return f"=={clause.lstrip('=').rstrip('*').rstrip('.')}.*"
    return clause.rstrip("*").rstrip(".") if clause[:1] in "<>" else clause
