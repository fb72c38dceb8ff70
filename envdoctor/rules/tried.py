"""What a text tells to have been done already is no advice any more: it is left out, and said to be so."""

from __future__ import annotations

import re
from dataclasses import replace

from envdoctor.facts.model import TRIED, Facts
from envdoctor.rules.finding import Finding
from envdoctor.values.pattern import Pattern

_SET = Pattern(r"^(?:export|set|setx) (?P<name>[A-Z]\w{3,60})[= ](?P<value>\S{1,80})$")
_INSTALLS = Pattern(r"\bpip3? install(?P<what>(?: [^\s;|&`,]{1,80}){1,12})")
_FLAG = Pattern(
    r"\bwith (?:that|this|the) (?:flag|option|variable|setting|fallback)\b|\b(?:flag|variable|fallback) (?:is |was )?"
    r"(?:set|enabled|on)\b",
    re.IGNORECASE,
)
"""Of a variable that the program's own message asked for."""


def without_tried(finding: Finding, facts: Facts) -> Finding:
    """The finding without those of its commands that the text tells to have been typed already, in vain."""
    tried = facts.remarks.get(TRIED, "")
    offered = (*finding.remedy.commands, *finding.remedy.instead)
    done = [command for command in offered if tried and _is_done(command, tried, finding)]
    if not done:
        return finding
    left = tuple(command for command in finding.remedy.commands if command not in done)
    others = tuple(command for command in finding.remedy.instead if command not in done)
    if not left:
        left, others = others, ()
    text = f"{finding.remedy.text} By the text this was done already, so it alone does not help: {', '.join(done)}."
    return replace(finding, remedy=replace(finding.remedy, text=text, commands=left, instead=others))


def _is_done(command: str, tried: str, finding: Finding) -> bool:
    if found := _SET.search(command):
        named = re.search(rf"\b{found['name']}\b[= ]{{1,3}}{re.escape(found['value'])}(?!\w)", tried)
        return named is not None or (found["name"] in finding.message and _FLAG.search(tried) is not None)
    wanted = _INSTALLS.search(command)
    return wanted is not None and any(_parts(wanted) == _parts(found) for found in _INSTALLS.finditer(tried))


def _parts(found: re.Match[str]) -> frozenset[str]:
    return frozenset(part.strip("'\"") for part in found["what"].split())
