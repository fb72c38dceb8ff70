"""Requires-Dist lines, read cheaply: most are a name and a specifier, and only the rest needs a full parser."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from envdoctor.values.pattern import Pattern

_PLAIN = Pattern(r"([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?([^();@]*)\)?\s*(?:;\s*(.*))?")
_EXTRA = Pattern(r"\bextra\s*(==|!=|in\b)|==\s*extra\b")


class Wanted(NamedTuple):
    """One requirement: normalised name, specifier, and the marker under which it holds ("" for always)."""

    name: str
    specifier: str
    marker: str


@functools.cache
def read(line: str) -> Wanted | None:
    """The requirement, or None when it is unreadable, or an extra's, which nobody is known to have asked for."""
    if "extra" in line and _EXTRA.search(line):
        return None
    match = _PLAIN.fullmatch(line.strip())
    if match:
        return Wanted(normal(match[1]), match[2].strip(), (match[3] or "").strip())
    try:
        requirement = Requirement(line)
    except InvalidRequirement:
        return None
    return Wanted(normal(requirement.name), str(requirement.specifier), str(requirement.marker or ""))


@functools.cache
def normal(name: str) -> str:
    return canonicalize_name(name)


@functools.cache
def _marker(text: str) -> Marker | None:
    try:
        return Marker(text)
    except InvalidMarker:
        return None


def demanded_specifier(lines: Iterable[str], name: str, environment: Mapping[str, str]) -> str | None:
    """The specifier with which these Requires-Dist lines ask for ``name`` ("" for any version); None where none does,
    or only under a marker that is known not to hold."""
    for line in lines:
        wanted = read(line) if name in line else None
        if wanted is not None and wanted.name == name and holds(wanted.marker, environment) is not False:
            return wanted.specifier
    return None


def holds(marker: str, environment: Mapping[str, str]) -> bool | None:
    """Does the marker hold in this PEP 508 environment? None when it cannot be read or the environment is not known."""
    if not marker:
        return True
    parsed = _marker(marker)
    if parsed is None or not environment:
        return None
    return parsed.evaluate({**environment, "extra": ""})
