"""Of advice that lists the options of many programs, those of the program that a text is about."""

from __future__ import annotations

import re
from dataclasses import replace

from envdoctor.facts.model import Facts
from envdoctor.knowledge.tools import TOLD, TOOLS
from envdoctor.rules.finding import Finding

_LIST = re.compile(r" \((?P<items>(?:[^()]|\([^()]{0,60}\)){1,400})\)")
_BETWEEN = re.compile(r"([,;] (?:or )?)")


def without_other_tools(finding: Finding, facts: Facts) -> Finding:
    """The finding whose advice in brackets names no option of a program that another one stands for in the text."""
    told = facts.remarks.get(TOLD, "")
    if not told or not any(name in finding.remedy.text for name in TOOLS):
        return finding
    named = frozenset(told.split("; "))

    def shortened(found: re.Match[str]) -> str:
        parts = _BETWEEN.split(found["items"])
        kept = [part for part in parts[::2] if not _is_other(part, named)]
        if len(kept) == len(parts[::2]):
            return found[0]
        return f" ({', '.join(kept)})" if kept else ""

    text = _LIST.sub(shortened, finding.remedy.text)
    return finding if text == finding.remedy.text else replace(finding, remedy=replace(finding.remedy, text=text))


def _is_other(part: str, named: frozenset[str]) -> bool:
    """Is the option one of programs that the text does not speak of?"""
    theirs = {name for name in TOOLS if re.search(rf"\b{re.escape(name)}\b", part)}
    return bool(theirs) and theirs.isdisjoint(named)
