"""Asking facts for what may be absent: what to do without it is the asker's to say, once."""

from __future__ import annotations

from typing import TypeVar, overload

from envdoctor.facts.model import Facts, Known, Unavailable

Section = TypeVar("Section")


class Skip(Exception):
    """Raised by whoever needs an absent fact: it cannot be judged, and here is why."""


@overload
def need(section: Known[Section]) -> Section: ...
@overload
def need(section: Known[Section] | None, what: str) -> Section: ...
def need(section: Known[Section] | None, what: str = "") -> Section:
    """The value. Raises `Skip` where it is absent: with the section's own reason, or with ``what`` where it is None."""
    if isinstance(section, Unavailable):
        raise Skip(section.reason)
    if section is None:
        raise Skip(what)
    return section


def error_lines(facts: Facts) -> tuple[str, ...]:
    """The error lines of a report. Raises `Skip` where it has none."""
    return need(facts.messages or None, "the report has no error lines")


def known(section: Known[Section]) -> Section | None:
    """The section's value, or None, for those who can do without."""
    return None if isinstance(section, Unavailable) else section
